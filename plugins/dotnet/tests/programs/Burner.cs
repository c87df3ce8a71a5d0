// SPDX-License-Identifier: Apache-2.0
//
// Burns CPU time in known stacks, and says which: Burner [SECONDS [DEPTH]]; SIGTERM ends it before
//
//	STACK	SCENARIO	FRAME;FRAME;...	root first, as System.Diagnostics.StackTrace has them at the leaf
//	CPU	SECONDS			what it has used, last
//
// Names are Namespace.Outer.Inner.Method, as metadata has them. No method of it is inlined, but for what
// a compiler makes of an iterator.
using System;
using System.Collections.Generic;
using System.Diagnostics;
using System.Linq;
using System.Reflection;
using System.Reflection.Emit;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;
using System.Text;

namespace Burner;

interface IShape { long Area(int n); }

sealed class Square : IShape
{
	[MethodImpl(MethodImplOptions.NoInlining)] public long Area(int n) => Leaf.Spin(n) + 1;
}

sealed class Circle : IShape
{
	[MethodImpl(MethodImplOptions.NoInlining)] public long Area(int n) => Leaf.Spin(n) + 2;
}

struct Pair { public long A, B; public override string ToString() => A + " " + (B = A); }

class Box<T>
{
	T kept;

	[MethodImpl(MethodImplOptions.NoInlining)] public long Put(T value, int n)
	{
		kept = value;
		return Leaf.Spin(n) + 1;
	}

	[MethodImpl(MethodImplOptions.NoInlining)] public static long Turn<U>(U other, int n) => Leaf.Spin(n) + (other == null ? 1 : 2);

	public class Inner
	{
		[MethodImpl(MethodImplOptions.NoInlining)] public long Run(int n) => Leaf.Spin(n) + 1;
	}
}

static class Leaf
{
	public static string Reports;	// the scenario whose stack is to be told
	public static long Sink;

	[MethodImpl(MethodImplOptions.NoInlining)] public static long Spin(int n)
	{
		long sum = 0;

		if (Reports != null)
			Report();
		for (int i = 0; i < n; i++)
			sum += (long)i * i % 7;
		return sum;
	}

	static string NameOf(MethodBase method)
	{
		var name = new StringBuilder();

		for (Type type = method.DeclaringType; type != null; type = type.DeclaringType)
		{
			string own = type.Name;
			int tick = own.IndexOf('`');

			name.Insert(0, (tick < 0 ? own : own[..tick]) + ".");
			if (type.DeclaringType == null && type.Namespace != null)
				name.Insert(0, type.Namespace + ".");
		}
		return name + method.Name;
	}

	[MethodImpl(MethodImplOptions.NoInlining)] static void Report()
	{
		var names = new StackTrace(1).GetFrames().Select(frame => NameOf(frame.GetMethod()));

		Console.WriteLine("STACK\t" + Reports + "\t" + string.Join(";", names.Reverse()));
		Reports = null;
	}
}

static unsafe class Native
{
	[DllImport("libc", EntryPoint = "qsort")]
	static extern void Sort(int* values, nuint n, nuint bytes, delegate* unmanaged[Cdecl]<int*, int*, int> compare);

	static int turns;

	[UnmanagedCallersOnly(CallConvs = new[] { typeof(CallConvCdecl) })] static int Compare(int* a, int* b)
	{
		Leaf.Sink += Leaf.Spin(turns);
		return a[0] - b[0];
	}

	[MethodImpl(MethodImplOptions.NoInlining)] public static long Call(int n)
	{
		int* values = stackalloc int[2];

		values[0] = 2;
		values[1] = 1;
		turns = n;
		Sort(values, 2, 4, &Compare);
		return values[0];
	}
}

static class Scenarios
{
	static readonly IShape[] shapes = { new Square(), new Circle() };
	static Func<int, long> made, dynamic;
	static MethodInfo invoked;

	[MethodImpl(MethodImplOptions.NoInlining)] static long Small(int n) => Leaf.Spin(n) + 1;
	[MethodImpl(MethodImplOptions.NoInlining)] public static long Calls(int n) => Small(n) + 1;
	[MethodImpl(MethodImplOptions.NoInlining)] public static long Squares(int n) => shapes[0].Area(n);
	[MethodImpl(MethodImplOptions.NoInlining)] public static long Circles(int n) => shapes[1].Area(n);
	[MethodImpl(MethodImplOptions.NoInlining)] public static long References(int n) => new Box<string>().Put("a", n);
	[MethodImpl(MethodImplOptions.NoInlining)] public static long Values(int n) => new Box<Pair>().Put(default, n);
	[MethodImpl(MethodImplOptions.NoInlining)] public static long Methods(int n) => Box<int>.Turn("b", n);
	[MethodImpl(MethodImplOptions.NoInlining)] public static long Nested(int n) => new Box<string>.Inner().Run(n);

	[MethodImpl(MethodImplOptions.NoInlining)] public static long Lambdas(int n)
	{
		made ??= [MethodImpl(MethodImplOptions.NoInlining)] (m) => Leaf.Spin(m) + 1;
		return made(n);
	}

	[MethodImpl(MethodImplOptions.NoInlining)] public static long Locals(int n)
	{
		[MethodImpl(MethodImplOptions.NoInlining)] static long Local(int m) => Leaf.Spin(m) + 1;
		return Local(n);
	}

	static IEnumerable<long> Numbers(int n)
	{
		yield return Leaf.Spin(n);
	}

	[MethodImpl(MethodImplOptions.NoInlining)] public static long Iterators(int n)
	{
		long sum = 0;

		foreach (long number in Numbers(n))
			sum += number;
		return sum;
	}

	[MethodImpl(MethodImplOptions.NoInlining)] static long Down(int depth, int n) =>
		depth == 0 ? Leaf.Spin(n) : Down(depth - 1, n) + 1;
	[MethodImpl(MethodImplOptions.NoInlining)] public static long Deep(int n) => Down(Depth, n);
	public static int Depth = 300;

	[MethodImpl(MethodImplOptions.NoInlining)] public static long Stack(int n)
	{
		Span<long> words = stackalloc long[n % 13 + 200];

		words[n % 13] = Leaf.Spin(n);
		return words[n % 13];
	}

	[InlineArray(6000)] struct Much { long first; }

	[MethodImpl(MethodImplOptions.NoInlining)] public static long Large(int n)
	{
		var much = new Much();

		much[n % 6000] = Leaf.Spin(n);
		return much[n % 6000];
	}

	[MethodImpl(MethodImplOptions.NoInlining)] public static long Dynamic(int n)
	{
		if (dynamic == null)
		{
			var method = new DynamicMethod("burner_dynamic", typeof(long), new[] { typeof(int) }, typeof(Scenarios).Module);
			ILGenerator code = method.GetILGenerator();

			code.Emit(OpCodes.Ldarg_0);
			code.Emit(OpCodes.Call, typeof(Leaf).GetMethod("Spin"));
			code.Emit(OpCodes.Ldc_I4_1);
			code.Emit(OpCodes.Conv_I8);
			code.Emit(OpCodes.Add);
			code.Emit(OpCodes.Ret);
			dynamic = method.CreateDelegate<Func<int, long>>();
		}
		return dynamic(n);
	}

	[MethodImpl(MethodImplOptions.NoInlining)] public static long Invoked(int n) => Leaf.Spin(n) + 3;

	[MethodImpl(MethodImplOptions.NoInlining)] public static long Reflection(int n)
	{
		invoked ??= typeof(Scenarios).GetMethod("Invoked");
		return (long)invoked.Invoke(null, new object[] { n });
	}

	[MethodImpl(MethodImplOptions.NoInlining)] public static long Garbage(int n)
	{
		object[] kept = new object[64];

		for (int i = 0; i < 200; i++)
			kept[i & 63] = new byte[256];
		return kept.Length + Leaf.Spin(n);
	}
}

static class Program
{
	static readonly (string Name, Func<int, long> Run)[] scenarios =
	{
		("calls", Scenarios.Calls), ("squares", Scenarios.Squares), ("circles", Scenarios.Circles),
		("references", Scenarios.References), ("values", Scenarios.Values), ("methods", Scenarios.Methods),
		("nested", Scenarios.Nested), ("lambdas", Scenarios.Lambdas), ("locals", Scenarios.Locals),
		("iterators", Scenarios.Iterators), ("deep", Scenarios.Deep), ("stack", Scenarios.Stack),
		("large", Scenarios.Large), ("dynamic", Scenarios.Dynamic), ("reflection", Scenarios.Reflection),
		("garbage", Scenarios.Garbage), ("native", Native.Call),
	};

	[MethodImpl(MethodImplOptions.NoInlining)] static void Turn(Func<int, long> run, int n) => Leaf.Sink += run(n);

	static volatile bool isTold;

	/* For ever in one call: it becomes code of on-stack replacement. */
	[MethodImpl(MethodImplOptions.NoInlining)] static void Loop(double seconds)
	{
		var watch = Stopwatch.StartNew();

		foreach (var scenario in scenarios)
		{
			Leaf.Reports = scenario.Name;
			Turn(scenario.Run, 10);
		}
		while (watch.Elapsed.TotalSeconds < seconds && !isTold)
		{
			for (int i = 0; i < scenarios.Length; i++)
				Turn(scenarios[i].Run, 5000);
		}
	}

	static void Main(string[] args)
	{
		if (args.Length > 1)
			Scenarios.Depth = int.Parse(args[1]);
		using var told = PosixSignalRegistration.Create(PosixSignal.SIGTERM, signal =>
		{
			signal.Cancel = true;
			isTold = true;
		});

		Loop(args.Length > 0 ? double.Parse(args[0], System.Globalization.CultureInfo.InvariantCulture) : 2);
		Console.WriteLine("CPU\t" + Process.GetCurrentProcess().TotalProcessorTime.TotalSeconds.ToString(
			System.Globalization.CultureInfo.InvariantCulture));
	}
}
