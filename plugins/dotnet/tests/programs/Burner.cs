// SPDX-License-Identifier: Apache-2.0
//
// Burns CPU time in known stacks, and says which: Burner [SECONDS [DEPTH]]
//
//	STACK	SCENARIO	FRAME;FRAME;...	root first, as System.Diagnostics.StackTrace has them at the leaf
//	LINES	SCENARIO	LINE;LINE;...	of the same frames, 0: not known; again when the code was compiled again
//	CPU	SECONDS			what it has used, last
//
// Names are Namespace.Outer<T>.Inner.Method<U>, as they are written here. No method of it is inlined, but for what
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
using System.Threading.Tasks;

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

	/* What compilers make of a name: <Run>b__0_0, <Run>g__Local|0_0, and with `d` the class <Run>d__0. */
	static string Written(string name, string kind)
	{
		int end = name.LastIndexOf(">" + kind);

		if (end < 0 || name[0] != '<')
			return null;
		string outer = name[1..end], rest = name[(end + 1 + kind.Length)..];
		string written = Written(outer, "b__") ?? Written(outer, "g__") ?? outer;

		return kind == "b__" ? written + ".lambda" : kind == "g__" ? written + "." + rest[..rest.IndexOf('|')] : written;
	}

	static string Parameters(Type[] all, int outer) =>
		all.Length == outer ? "" : "<" + string.Join(",", all.Skip(outer).Select(type => type.Name)) + ">";

	static string OwnName(Type type, bool isMachine)
	{
		string name = type.Name;
		int tick = name.IndexOf('`');
		Type[] none = Type.EmptyTypes, all = type.IsGenericType ? type.GetGenericTypeDefinition().GetGenericArguments() : none;
		int outer = type.DeclaringType is { IsGenericType: true } ? type.DeclaringType.GetGenericArguments().Length : 0;

		name = tick < 0 ? name : name[..tick];
		return (isMachine ? Written(name, "d") ?? name : name) + Parameters(all, outer);
	}

	static string NameOf(MethodBase method)
	{
		bool isMachine = method.DeclaringType != null && Written(method.DeclaringType.Name, "d") != null;
		string own = Written(method.Name, "b__") ?? Written(method.Name, "g__") ?? method.Name;
		var name = new StringBuilder(isMachine && own == "MoveNext" ? "" : own);

		if (method.IsGenericMethod)
			name.Append(Parameters(((MethodInfo)method).GetGenericMethodDefinition().GetGenericArguments(), 0));
		for (Type type = method.DeclaringType; type != null; type = type.DeclaringType)
		{
			if (!type.Name.StartsWith("<>c"))
				name.Insert(0, OwnName(type, isMachine) + (name.Length == 0 ? "" : "."));
			isMachine = false;
			if (type.DeclaringType == null && type.Namespace != null)
				name.Insert(0, type.Namespace + ".");
		}
		return name.ToString();
	}

	/* IL 0 is what StackTrace says of code without an offset: 0, it does not know. */
	static int LineOf(StackFrame frame) => frame.GetILOffset() == 0 ? 0 : frame.GetFileLineNumber();

	[MethodImpl(MethodImplOptions.NoInlining)] static void Report()
	{
		var frames = new StackTrace(1, true).GetFrames().Reverse().ToArray();
		var names = frames.Select(frame => NameOf(frame.GetMethod()));

		Console.WriteLine("STACK\t" + Reports + "\t" + string.Join(";", names));
		Console.WriteLine("LINES\t" + Reports + "\t" + string.Join(";", frames.Select(LineOf)));
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

	[MethodImpl(MethodImplOptions.NoInlining)] public static long Captures(int n)
	{
		Func<long> made = [MethodImpl(MethodImplOptions.NoInlining)] () => Leaf.Spin(n) + n;
		return made();
	}

	[MethodImpl(MethodImplOptions.NoInlining)] static async Task<long> Load<T>(T other, int n)
	{
		long sum = Leaf.Spin(n);

		await Task.CompletedTask;
		return sum + (other == null ? 1 : 2);
	}

	[MethodImpl(MethodImplOptions.NoInlining)] public static long Async(int n) => Load("a", n).Result;

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
		("nested", Scenarios.Nested), ("lambdas", Scenarios.Lambdas), ("locals", Scenarios.Locals), ("captures", Scenarios.Captures), ("async", Scenarios.Async),
		("iterators", Scenarios.Iterators), ("deep", Scenarios.Deep), ("stack", Scenarios.Stack),
		("large", Scenarios.Large), ("dynamic", Scenarios.Dynamic), ("reflection", Scenarios.Reflection),
		("garbage", Scenarios.Garbage), ("native", Native.Call),
	};

	[MethodImpl(MethodImplOptions.NoInlining)] static void Turn(Func<int, long> run, int n) => Leaf.Sink += run(n);

	/* For ever in one call: it becomes code of on-stack replacement. */
	[MethodImpl(MethodImplOptions.NoInlining)] static void Loop(double seconds)
	{
		var watch = Stopwatch.StartNew();

		for (int turn = 0; watch.Elapsed.TotalSeconds < seconds; turn++)
		{
			for (int i = 0; i < scenarios.Length; i++)
			{
				if (turn == 0 || turn == 50 || turn == 1000)
					Leaf.Reports = scenarios[i].Name;
				Turn(scenarios[i].Run, turn == 0 ? 10 : 5000);
			}
		}
	}

	static void Main(string[] args)
	{
		if (args.Length > 1)
			Scenarios.Depth = int.Parse(args[1]);
		Loop(args.Length > 0 ? double.Parse(args[0], System.Globalization.CultureInfo.InvariantCulture) : 2);
		Console.WriteLine("CPU\t" + Process.GetCurrentProcess().TotalProcessorTime.TotalSeconds.ToString(
			System.Globalization.CultureInfo.InvariantCulture));
	}
}
