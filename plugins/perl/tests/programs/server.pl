# SPDX-License-Identifier: Apache-2.0
# Answers /, /list/N and /json/N: for Mojolicious ("server.pl daemon -l http://127.0.0.1:PORT").
use Mojolicious::Lite -signatures;

get '/' => sub ($c) {
	$c->render(template => 'index');
};

get '/list/:number' => [number => qr/\d+/] => sub ($c) {
	$c->stash(rows => [map { {name => "row $_", size => $_ ** 2} } 1 .. $c->param('number')]);
	$c->render(template => 'list');
};

get '/json/:number' => sub ($c) {
	$c->render(json => {rows => [sort { $b <=> $a } 1 .. $c->param('number')], of => $c->req->url->to_string});
};

app->log->level('error');
app->start;
__DATA__
@@ index.html.ep
% layout 'page';
<p>Hello</p>

@@ list.html.ep
% layout 'page';
<ul>
% for my $row (@$rows) {
  <li class="<%= $row->{size} %>"><%= $row->{name} %></li>
% }
</ul>

@@ layouts/page.html.ep
<!DOCTYPE html>
<html><body><%= content %></body></html>
