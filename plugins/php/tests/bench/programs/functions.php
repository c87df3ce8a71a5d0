<?php
// Prints its release, then "ready", when it has some thousand methods, and waits. For bench_php_names.
const CLASSES = 400, METHODS = 10;

$path = tempnam(sys_get_temp_dir(), 'functions');
$text = "<?php\nnamespace Bench\\Names;\n";
for ($class = 0; $class < CLASSES; $class++) {
	$text .= "class Of_number_$class\n{\n";
	for ($method = 0; $method < METHODS; $method++)
		$text .= "\tpublic function method_$method(\$a, \$b)\n\t{\n\t\treturn \$a . \$b;\n\t}\n\n";
	$text .= "}\n\n";
}
file_put_contents($path, $text);
require $path;
unlink($path);
echo 'release ', PHP_MAJOR_VERSION, ' ', PHP_MINOR_VERSION, "\nready\n";
sleep(300);
