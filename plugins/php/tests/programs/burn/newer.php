<?php
// SPDX-License-Identifier: Apache-2.0
// PHP 8.0 and newer.
namespace Burn;

class Promoted
{
	public function __construct(private int $n)
	{
		spin($n);
	}

	public function named(int $one, int|float $other = 1): static
	{
		spin($one + (int) $other);
		return $this;
	}

	public function matched(int $n): int
	{
		return match (true) {
			$n < 1 => spin(10),
			$n < 200 => spin(100),
			default => never(),
		};
	}
}

function turn_newer_calls()
{
	$made = new Promoted(50);
	$made?->named(other: 2, one: 100)->matched(100);
	$none = null;
	$none?->named(spin(1));
	$text = new class implements \Stringable {
		public function __toString(): string
		{
			spin(100);
			return 'burned';
		}
	};
	str_contains($text, 'burn');
	json_encode(new class implements \JsonSerializable {
		public function jsonSerialize(): mixed
		{
			return spin(100);
		}
	});
}
