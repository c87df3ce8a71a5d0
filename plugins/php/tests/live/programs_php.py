# SPDX-License-Identifier: Apache-2.0
"""Programs that are written in PHP, and what they do for check_php_real.py: each gives its command. Debian's, and
php-cs-fixer of PyPI, which brings a static PHP."""
import os
import shlex
import shutil
import sys

import backtraces  # and with it where the kit is
import runtimes
from programs import driven, named, write
from runs import Skipped

GROUP = "php-programs"
ROOT = os.path.join(runtimes.CACHE, GROUP)
PHP = "/usr/bin/php8.2"
PORT, FPM_PORT = 18399, 18398
SHORT, SCRIPTS, STATIC = "short", "scripts", "cs_fixer"
N_SCRIPTS = 20
# Each of the scripts does its work by a function in C that no other one has, whose name is always known.
WORKERS = ("md5", "sha1", "crc32", "strrev", "ucwords", "str_rot13", "soundex", "metaphone", "bin2hex", "base64_encode",
           "nl2br", "addslashes", "htmlspecialchars", "urlencode", "quotemeta", "strtoupper", "lcfirst", "chunk_split",
           "rawurlencode", "convert_uuencode")
INI = """memory_limit=-1
extension=dom
extension=xml
extension=xmlwriter
extension=xmlreader
extension=simplexml
extension=mbstring
extension=ctype
extension=tokenizer
extension=iconv
extension=phar
extension=posix
extension=fileinfo
"""
FPM = """[global]
error_log = {0}/fpm.log
daemonize = no
[www]
user = root
group = root
listen = 127.0.0.1:{1}
pm = static
pm.max_children = 2
"""
NGINX = """daemon off;
pid {0}/nginx.pid;
error_log {0}/nginx.log;
user root root;
events {{ worker_connections 64; }}
http {{
	access_log off;
	server {{
		listen 127.0.0.1:{1};
		location / {{
			include /etc/nginx/fastcgi_params;
			fastcgi_param SCRIPT_FILENAME {3}$uri;
			fastcgi_pass 127.0.0.1:{2};
		}}
	}}
}}
"""
APACHE = """ServerRoot {0}
ServerName localhost
PidFile {0}/apache.pid
ErrorLog {0}/apache.log
DefaultRuntimeDir {0}
Mutex sem
User nobody
Group nobody
Listen 127.0.0.1:{1}
LoadModule mpm_prefork_module /usr/lib/apache2/modules/mod_mpm_prefork.so
LoadModule authz_core_module /usr/lib/apache2/modules/mod_authz_core.so
LoadModule mime_module /usr/lib/apache2/modules/mod_mime.so
LoadModule php_module /usr/lib/apache2/modules/libphp8.2.so
TypesConfig /dev/null
PHPIniDir {0}/php.ini
DocumentRoot /usr/share/dokuwiki
<Directory />
	Require all granted
	<FilesMatch "\\.php$">
		SetHandler application/x-httpd-php
	</FilesMatch>
</Directory>
StartServers 2
"""
TEST = """<?php
use PHPUnit\\Framework\\TestCase;

class Some{0}Test extends TestCase
{{
	public function numbers(): array
	{{
		return array_map(fn($n) => [$n, $n * 2], range(1, 60));
	}}

	/** @dataProvider numbers */
	public function testDoubles(int $n, int $double): void
	{{
		$mock = $this->createMock(ArrayAccess::class);
		$mock->method('offsetGet')->willReturnCallback(fn($key) => $key * 2);
		$this->assertSame($double, $mock[$n]);
		$this->assertThat("text $n", $this->logicalAnd($this->stringContains('text'), $this->logicalNot($this->isEmpty())));
	}}
}}
"""
CLASS = """<?php
namespace Some\\Part{0};

interface Able{0} {{ public function able(array $given): ?string; }}

final class Name{0} implements Able{0}
{{
	private $names = array('a' => {0}, "b"=>2);
	public function able(array $given): ?string
	{{
		foreach($given as $key=>$value) {{ if($value==1) {{ return (string)$key; }} else if ($value) $this->names[$key] = function() use ($value) {{ return $value; }}; }}
		return null;
	}}
}}
"""
SCRIPT = """<?php
class Script{0}
{{
	public function work{0}($text)
	{{
		for ($i = 0; $i < 4; $i++) {{
			$kept = {1}($text);
		}}
		return $kept;
	}}

	public function each{0}()
	{{
		return array_map(function ($n) {{ return $this->work{0}(str_repeat("burned $n ", {2})); }}, range(1, 10));
	}}
}}
(new Script{0}())->each{0}();
echo 'script {0}';
"""


def inside(directory, *words):
    """The command that runs these words in the root file system."""
    return [sys.executable, runtimes.ENTER, "chroot", ROOT, directory, "COMPOSER_ALLOW_SUPERUSER=1",
            f"COMPOSER_HOME={directory}", *words]


def php(directory, *words):
    return PHP, "-c", write(directory + "/php.ini", INI), *words


def again(check, directory, *words):
    """The command that runs them there again and again."""
    return driven(inside(directory, "/bin/sh", "-c", f"cd {directory} && exec {shlex.join(words)} >said 2>&1"),
                  check.options.seconds)


def pages():
    """Of dokuwiki, made anew at each request. It may write where it keeps them."""
    data = ROOT + "/var/lib/dokuwiki"
    for path in [data, *(os.path.join(place, name) for place, found, files in os.walk(data) for name in [*found, *files])]:
        if not os.path.islink(path):
            os.chmod(path, 0o777)
    return "/doku.php?id=wiki:syntax&purge=true", "/doku.php?id=wiki:dokuwiki&do=index", "/doku.php?do=search&q=wiki"


def served_by_fpm(check, directory, documents, paths, *options):
    write(directory + "/fpm.conf", FPM.format(directory, FPM_PORT))
    write(directory + "/nginx.conf", NGINX.format(directory, PORT, FPM_PORT, documents))
    fpm = shlex.join(["/usr/sbin/php-fpm8.2", "-R", "-F", *php(directory)[1:], "-y", directory + "/fpm.conf", *options])
    # fpm has a session of its own.
    command = f"{fpm} 2>{directory}/said & trap 'kill $!' TERM; /usr/sbin/nginx -c {directory}/nginx.conf"
    return driven(inside(directory, "/bin/sh", "-c", command), check.options.seconds, False, PORT, paths)


def program_composer(check, directory):
    write(directory + "/composer.json", '{"name": "some/thing", "autoload": {"classmap": ["/usr/share/php"]}}')
    return again(check, directory, *php(directory), "/usr/bin/composer", "dump-autoload", "--optimize", "--no-interaction")


def program_phpunit(check, directory):
    for n in range(150):
        write(f"{directory}/tests/Some{n}Test.php", TEST.format(n))
    return again(check, directory, *php(directory), "/usr/bin/phpunit", "--no-configuration", "tests")


def program_phpcs(check, directory):
    shutil.copytree(ROOT + "/usr/share/php/PHPUnit/Framework", directory + "/code", ignore=shutil.ignore_patterns("[A-Z]*Test*"))
    return again(check, directory, *php(directory), "/usr/bin/phpcs", "-q", "--runtime-set", "ignore_errors_on_exit", "1",
                 "--runtime-set", "ignore_warnings_on_exit", "1", "code")


def program_fpm(check, directory):
    return served_by_fpm(check, directory, "/usr/share/dokuwiki", pages(), "-d", "zend_extension=opcache")


def program_apache(check, directory):
    write(directory + "/php.ini", INI)
    write(directory + "/apache.conf", APACHE.format(directory, PORT))
    for name, line in ("passwd", "nobody:x:65534:65534::/:/bin/sh\n"), ("group", "nobody:x:65534:\n"):
        with open(f"{ROOT}/etc/{name}", "r+", encoding="utf-8") as file:
            if "nobody" not in file.read():
                file.write(line)
    os.chmod(directory, 0o777)
    return driven(inside(directory, "/usr/sbin/apache2", "-DFOREGROUND", "-f", directory + "/apache.conf"),
                  check.options.seconds, False, PORT, pages())


def program_scripts(check, directory):
    """Twenty of them, of 5 ms each, without opcache: the code of a request is freed, the next one's is where it was."""
    for n, worker in enumerate(WORKERS):
        write(f"{directory}/script{n}.php", SCRIPT.format(n, worker, check.options.script_size))
    return served_by_fpm(check, directory, directory, [f"/script{n}.php" for n in range(N_SCRIPTS)])


def program_short(check, directory):
    """Of 0.1 s each."""
    write(directory + "/short.php", "<?php\nfunction sums($n) { $sums = []; foreach (range(1, $n) as $i) { "
          "$sums[\"of $i\"] = array_sum(range(1, 40)); }\n\treturn $sums; }\n"
          "json_decode(json_encode(sums(130000)));\n")
    return again(check, directory, PHP, "-n", "short.php")


def program_cs_fixer(check, directory):
    """It is the host's: static."""
    found = os.path.join(runtimes.CACHE, "php-cs-fixer", "bin")
    if not os.path.exists(found + "/php-cs-fixer.phar"):
        raise Skipped("skip: no php-cs-fixer")
    for n in range(40):
        write(f"{directory}/code/Name{n}.php", CLASS.format(n))
    command = shlex.join([found + "/php-static", "-n", found + "/php-cs-fixer.phar", "fix", "--using-cache=no",
                          "--rules=@PSR12,@Symfony", "code"])
    return driven(["sh", "-c", f"cd {directory} && exec {command} >said 2>&1"], check.options.seconds)


ALL = named(globals())
