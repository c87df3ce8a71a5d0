// SPDX-License-Identifier: Apache-2.0
// Names and calls as C++ has them: templates, lambdas, std::function, virtual calls, std::sort.
#include "zoo.h"

#include <algorithm>
#include <functional>
#include <memory>
#include <vector>

ZOO_DEFINE_SPIN(spin)

namespace zoo {

struct Shape {
	virtual ~Shape() = default;
	virtual void draw(int x) = 0;
};

template <typename T> struct Round : Shape {
	KEEP void draw(int x) override
	{
		spin(SPINS_PER_MS / 4 + static_cast<unsigned int>(T(x) > T(0)));
		BARRIER();
	}
};

KEEP void draw_all(std::vector<std::unique_ptr<Shape>> &shapes)
{
	for (auto &shape : shapes)
		shape->draw(1);
	BARRIER();
}

KEEP void call_function(const std::function<void(int)> &fn)
{
	fn(3);
	BARRIER();
}

template <typename Number> KEEP void sort_numbers(std::vector<Number> numbers)
{
	std::sort(numbers.begin(), numbers.end(), [](Number a, Number b) KEEP {
		spin(SPINS_PER_MS / 100);
		return a < b;
	});
	BARRIER();
}

KEEP void with_lambda()
{
	call_function([](int x) KEEP {
		spin(SPINS_PER_MS / 4 * static_cast<unsigned int>(x > 0));
		BARRIER();
	});
}

} // namespace zoo

int main(int argc, char **argv)
{
	std::vector<std::unique_ptr<zoo::Shape>> shapes;

	shapes.emplace_back(new zoo::Round<int>);
	shapes.emplace_back(new zoo::Round<double>);
	zoo_start(argc, argv,
		  "STACK spin zoo::Round<int>::draw zoo::draw_all main\n"
		  "STACK spin zoo::Round<double>::draw zoo::draw_all main\n"
		  "STACK spin zoo::with_lambda*::operator() ... zoo::call_function zoo::with_lambda main\n"
		  "STACK spin *zoo::sort_numbers<long>*operator() ... *zoo::sort_numbers<long> main\n");
	while (zoo_time_left()) {
		zoo::draw_all(shapes);
		zoo::with_lambda();
		zoo::sort_numbers(std::vector<long>{5, 3, 8, 1, 9, 2, 7, 4});
	}
	return 0;
}
