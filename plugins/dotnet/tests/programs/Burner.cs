// SPDX-License-Identifier: Apache-2.0
//
// Burns CPU time in known stacks, and says which: Burner [SECONDS [DEPTH [SCENARIO]]]; SIGTERM ends it before
//
//	STACK	SCENARIO	FRAME;FRAME;...	root first, as System.Diagnostics.StackTrace has them at the leaf
//	LINES	SCENARIO	LINE;LINE;...	of the same frames, 0: not known; again when the code was compiled again
//	PART	SCENARIO	FRAME;FRAME;...	a stack that is not the leaf's: of who throws, say
//	SHARE	METHOD	SECONDS		CPU time of its thread in what the method calls, of scenario shares
//	CPU	SECONDS			what it has used, last
//
// Names are Namespace.Outer<T>.Inner.Method<U>, as they are written here. No method of it is inlined, but for what
// a compiler makes of an iterator.
using System;
using System.Collections.Generic;
using System.Diagnostics;
using System.Linq;
using System.Numerics;
using System.Reflection;
using System.Reflection.Emit;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;
using System.Runtime.Loader;
using System.Text;
using System.Text.RegularExpressions;
using System.Threading;
using System.Threading.Tasks;

namespace Burner
{

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

public static class Leaf
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
	/*
	 * Calls of their own: a compiler would make the caller's code twice, for turns that tell and for those that do not,
	 * with other lines.
	 */
	[MethodImpl(MethodImplOptions.NoInlining)] public static void Tell(bool isLast, int turn, string scenario)
	{
		if (isLast || turn == 0 || turn == 50 || turn == 1000)
			Reports = scenario;
	}

	[MethodImpl(MethodImplOptions.NoInlining)] public static int Much(int turn) => turn == 0 ? 10 : 5000;

	/* The caller's stack, and maybe a frame above it. */
	[MethodImpl(MethodImplOptions.NoInlining)] public static void Part(string above = null)
	{
		if (Reports == null)
			return;
		var names = new StackTrace(1).GetFrames().Select(frame => NameOf(frame.GetMethod())).Reverse();

		Console.WriteLine("PART\t" + Reports + "\t" + string.Join(";", above == null ? names : names.Append(above)));
	}

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

	/* Between managed and native code, to and fro. */
	const int Turns = 64;
	static int left;

	[UnmanagedCallersOnly(CallConvs = new[] { typeof(CallConvCdecl) })] static int Again(int* a, int* b)
	{
		Leaf.Sink += --left > 0 ? Turn() : Leaf.Spin(turns);
		return a[0] - b[0];
	}

	[MethodImpl(MethodImplOptions.NoInlining)] static long Turn()
	{
		int* values = stackalloc int[2];

		values[0] = 2;
		values[1] = 1;
		Sort(values, 2, 4, &Again);
		return values[0];
	}

	[MethodImpl(MethodImplOptions.NoInlining)] public static long Many(int n)
	{
		turns = n;
		left = Turns;
		return Turn();
	}

	/* A delegate that C calls by a pointer. */
	[UnmanagedFunctionPointer(CallingConvention.Cdecl)] delegate int Comparer(int* a, int* b);
	static readonly Comparer comparer = CompareByDelegate;

	[MethodImpl(MethodImplOptions.NoInlining)] static int CompareByDelegate(int* a, int* b)
	{
		Leaf.Sink += Leaf.Spin(turns);
		return a[0] - b[0];
	}

	[MethodImpl(MethodImplOptions.NoInlining)] public static long Pointer(int n)
	{
		int* values = stackalloc int[2];

		values[0] = 2;
		values[1] = 1;
		turns = n;
		Sort(values, 2, 4, (delegate* unmanaged[Cdecl]<int*, int*, int>)Marshal.GetFunctionPointerForDelegate(comparer));
		return values[0];
	}

	[DllImport("libc", EntryPoint = "memset"), SuppressGCTransition] static extern void* Fill(void* at, int value, nuint bytes);

	[MethodImpl(MethodImplOptions.NoInlining)] public static long Suppressed(int n)
	{
		byte* bytes = stackalloc byte[32768];

		Fill(bytes, n, 32768);
		return Leaf.Spin(n) + bytes[n];
	}
}

/* Exceptions: what runs in a funclet has the frames of who threw below it. */
static class Thrown
{
	sealed class Oops : Exception { }

	[MethodImpl(MethodImplOptions.NoInlining)] static void Throw()
	{
		Leaf.Part();
		throw new Oops();
	}

	[MethodImpl(MethodImplOptions.NoInlining)] static long Through(int n)
	{
		if (n >= 0)
			Throw();
		return n;
	}
	[MethodImpl(MethodImplOptions.NoInlining)] static long Small(int n) => Through(n) + 1;
	[MethodImpl(MethodImplOptions.NoInlining)] static bool Looks(int n) => Leaf.Spin(n) >= 0;

	[MethodImpl(MethodImplOptions.NoInlining)] public static long Caught(int n)
	{
		long sum = 0;

		try
		{
			sum = Small(n);
		}
		catch (Oops)
		{
			sum += Leaf.Spin(n);
		}
		return sum;
	}

	[MethodImpl(MethodImplOptions.NoInlining)] public static long Filtered(int n)
	{
		try
		{
			return Small(n);
		}
		catch (Oops) when (Looks(n))
		{
			return 1;
		}
	}

	[MethodImpl(MethodImplOptions.NoInlining)] static long Last(int n)
	{
		long sum = 0;

		try
		{
			sum = Small(n);
		}
		finally
		{
			Leaf.Sink += Leaf.Spin(n);
		}
		return sum;
	}

	[MethodImpl(MethodImplOptions.NoInlining)] public static long Finally(int n)
	{
		try
		{
			return Last(n);
		}
		catch (Oops)
		{
			return 1;
		}
	}

	[MethodImpl(MethodImplOptions.NoInlining)] public static long Passed(int n)
	{
		long sum = 0;

		try
		{
			sum = Scenarios.Nothing(n);
		}
		finally
		{
			sum += Leaf.Spin(n);
		}
		return sum;
	}

	/* Thrown, caught and thrown again, while another one is caught. */
	[MethodImpl(MethodImplOptions.NoInlining)] static long Rethrow(int n)
	{
		try
		{
			return Small(n);
		}
		catch (Oops)
		{
			throw;
		}
	}

	[MethodImpl(MethodImplOptions.NoInlining)] public static long Twice(int n)
	{
		try
		{
			return Small(n);
		}
		catch (Oops)
		{
			try
			{
				return Rethrow(n);
			}
			catch (Oops)
			{
				return Leaf.Spin(n);
			}
		}
	}

	/* A funclet of a funclet: what runs at the end, in what catches. */
	[MethodImpl(MethodImplOptions.NoInlining)] public static long Within(int n)
	{
		long sum = 0;

		try
		{
			sum = Small(n);
		}
		catch (Oops)
		{
			try
			{
				sum = Last(n);
			}
			catch (Oops)
			{
				sum += 2;
			}
		}
		return sum;
	}

	/* Code of an image calls it, in what runs at the end, while an exception passes. */
	sealed class Broken : IEnumerable<string>, IEnumerator<string>
	{
		public int Spins;

		public IEnumerator<string> GetEnumerator() => this;
		System.Collections.IEnumerator System.Collections.IEnumerable.GetEnumerator() => this;
		public string Current => "";
		object System.Collections.IEnumerator.Current => "";
		public void Reset() { }

		[MethodImpl(MethodImplOptions.NoInlining)] public bool MoveNext()
		{
			Throw();
			return true;
		}

		[MethodImpl(MethodImplOptions.NoInlining)] public void Dispose() => Leaf.Sink += Leaf.Spin(Spins);
	}

	[MethodImpl(MethodImplOptions.NoInlining)] public static long Disposed(int n)
	{
		try
		{
			return string.Join(",", new Broken { Spins = n }).Length;
		}
		catch (Oops)
		{
			return 1;
		}
	}
}

interface IVirtual { long Go<T>(T value, int n); }

sealed class Virtual : IVirtual
{
	[MethodImpl(MethodImplOptions.NoInlining)] public long Go<T>(T value, int n) => Leaf.Spin(n) + (value == null ? 1 : 2);
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

		Leaf.Part("Burner.Scenarios.Numbers");
		foreach (long number in Numbers(n))
			sum += number;
		return sum;
	}

	[MethodImpl(MethodImplOptions.NoInlining)] static long Down(int depth, int n) =>
		depth == 0 ? Leaf.Spin(n) : Down(depth - 1, n) + 1;
	[MethodImpl(MethodImplOptions.NoInlining)] public static long Deep(int n) => Down(Depth, n);
	public static int Depth = 500;

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

	static Func<int, int, long> down;

	/* Code that can be freed: nothing of it is remembered. */
	[MethodImpl(MethodImplOptions.NoInlining)] public static long DeepDynamic(int n)
	{
		if (down == null)
		{
			var method = new DynamicMethod("burner_down", typeof(long), new[] { typeof(int), typeof(int) }, typeof(Scenarios).Module);
			ILGenerator code = method.GetILGenerator();
			Label more = code.DefineLabel();

			code.Emit(OpCodes.Ldarg_0);
			code.Emit(OpCodes.Brtrue, more);
			code.Emit(OpCodes.Ldarg_1);
			code.Emit(OpCodes.Call, typeof(Leaf).GetMethod("Spin"));
			code.Emit(OpCodes.Ret);
			code.MarkLabel(more);
			code.Emit(OpCodes.Ldarg_0);
			code.Emit(OpCodes.Ldc_I4_1);
			code.Emit(OpCodes.Sub);
			code.Emit(OpCodes.Ldarg_1);
			code.Emit(OpCodes.Call, method);
			code.Emit(OpCodes.Ldc_I4_1);
			code.Emit(OpCodes.Conv_I8);
			code.Emit(OpCodes.Add);
			code.Emit(OpCodes.Ret);
			down = method.CreateDelegate<Func<int, int, long>>();
		}
		return down(Depth, n);
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

	[MethodImpl(MethodImplOptions.NoInlining)] static long Same(int n) => n;

	static readonly Func<int, long> same = Same;

	/* A delegate of a static method is called through a stub that moves its arguments: most of the time is there. */
	[MethodImpl(MethodImplOptions.NoInlining)] public static long Stubs(int n)
	{
		long sum = 0;

		for (int i = 0; i < 100 * n; i++)
			sum += same(i);
		return sum;
	}

	[MethodImpl(MethodImplOptions.NoInlining)] public static long Nothing(int n)
	{
		Leaf.Part();
		return n;
	}

	static readonly IVirtual virtually = new Virtual();

	[MethodImpl(MethodImplOptions.NoInlining)] public static long VirtualReferences(int n) => virtually.Go("a", n);
	[MethodImpl(MethodImplOptions.NoInlining)] public static long VirtualValues(int n) => virtually.Go(new Pair(), n);

	static Func<int, long> tail, collectible;

	/* Its frame is gone when the leaf runs. */
	[MethodImpl(MethodImplOptions.NoInlining)] public static long Tail(int n)
	{
		if (tail == null)
		{
			var method = new DynamicMethod("burner_tail", typeof(long), new[] { typeof(int) }, typeof(Scenarios).Module);
			ILGenerator code = method.GetILGenerator();

			code.Emit(OpCodes.Ldarg_0);
			code.Emit(OpCodes.Tailcall);
			code.Emit(OpCodes.Call, typeof(Leaf).GetMethod("Spin"));
			code.Emit(OpCodes.Ret);
			tail = method.CreateDelegate<Func<int, long>>();
		}
		Leaf.Part("burner_tail");
		return tail(n) + 1;
	}

	[MethodImpl(MethodImplOptions.NoInlining)] public static long Collectible(int n)
	{
		if (collectible == null)
		{
			var assembly = AssemblyBuilder.DefineDynamicAssembly(new AssemblyName("Collectible"), AssemblyBuilderAccess.RunAndCollect);
			TypeBuilder type = assembly.DefineDynamicModule("Collectible").DefineType("Burner.Made", TypeAttributes.Public);
			ILGenerator code = type.DefineMethod("Run", MethodAttributes.Public | MethodAttributes.Static, typeof(long),
				new[] { typeof(int) }).GetILGenerator();

			code.Emit(OpCodes.Ldarg_0);
			code.Emit(OpCodes.Call, typeof(Leaf).GetMethod("Spin"));
			code.Emit(OpCodes.Ldc_I4_1);
			code.Emit(OpCodes.Conv_I8);
			code.Emit(OpCodes.Add);
			code.Emit(OpCodes.Ret);
			collectible = type.CreateType().GetMethod("Run").CreateDelegate<Func<int, long>>();
		}
		return collectible(n);
	}

	/* A method is called by its address. */
	[MethodImpl(MethodImplOptions.NoInlining)] public static unsafe long Managed(int n)
	{
		delegate*<int, long> spin = &Small;

		return spin(n) + 1;
	}

	[MethodImpl(MethodImplOptions.NoInlining)] static long Ninth(long a, long b, long c, long d, long e, long f, long g, long h, int n) =>
		Leaf.Spin(n) + a + b + c + d + e + f + g + h;

	static Func<int, long> many;

	/* What it calls has more arguments on the stack than it has itself: the runtime's helper calls that in its place. */
	[MethodImpl(MethodImplOptions.NoInlining)] public static long TailMany(int n)
	{
		if (many == null)
		{
			var method = new DynamicMethod("burner_many", typeof(long), new[] { typeof(int) }, typeof(Scenarios).Module);
			ILGenerator code = method.GetILGenerator();

			for (int i = 0; i < 8; i++)
			{
				code.Emit(OpCodes.Ldc_I4, i);
				code.Emit(OpCodes.Conv_I8);
			}
			code.Emit(OpCodes.Ldarg_0);
			code.Emit(OpCodes.Tailcall);
			code.Emit(OpCodes.Call, typeof(Scenarios).GetMethod("Ninth", BindingFlags.NonPublic | BindingFlags.Static));
			code.Emit(OpCodes.Ret);
			many = method.CreateDelegate<Func<int, long>>();
		}
		Leaf.Part("burner_many");
		return many(n) + 1;
	}

	public static long Entered(int n, string reports)
	{
		Leaf.Reports = reports;
		return Leaf.Spin(n) + 1;
	}

	static Func<int, string, long> entered;

	/* This assembly once more, in a context that may be unloaded. In a single file there is none that could be loaded. */
	[MethodImpl(MethodImplOptions.NoInlining)] public static long Context(int n)
	{
		if (entered == null)
		{
			string file = AppContext.BaseDirectory + "Burner.dll";
			var context = new AssemblyLoadContext("Burner", true);
			MethodInfo method = typeof(Scenarios).GetMethod("Entered");	/* a trimmer keeps it */

			if (System.IO.File.Exists(file))
				method = context.LoadFromAssemblyPath(file).GetType("Burner.Scenarios").GetMethod("Entered");
			entered = method.CreateDelegate<Func<int, string, long>>();
		}
		string reports = Leaf.Reports;

		Leaf.Reports = null;
		return entered(n, reports);
	}

	static readonly Regex pattern = new Regex("(a|b)+c[0-9]{2,}x", RegexOptions.Compiled);
	static readonly string searched = new string('a', 200) + "c12x";

	[MethodImpl(MethodImplOptions.NoInlining)] public static long Pattern(int n) =>
		pattern.Replace(searched, [MethodImpl(MethodImplOptions.NoInlining)] (found) => { Leaf.Sink += Leaf.Spin(n); return "x"; }).Length;

	[MethodImpl(MethodImplOptions.NoInlining)] public static long Vectors(int n)
	{
		var sum = new Vector<int>(n);

		for (int i = 0; i < n; i++)
			sum = sum * new Vector<int>(3) + Vector<int>.One;
		return Vector.Dot(sum, Vector<int>.One) + Leaf.Spin(n);
	}

	/* While another thread collects garbage, which replaces the return addresses of calls. */
	[MethodImpl(MethodImplOptions.NoInlining)] public static long Collected(int n)
	{
		long sum = 0;

		Aside.Collector.Start();
		for (int i = 0; i < 100; i++)
			sum += Calls(n / 50);
		return sum;
	}
}

/*
 * Methods that are made, run once and let go: the memory of one is the next one's. Which of the eight callers one has is
 * in its number: a name that belongs to another one is seen by who called it.
 */
static class Churn
{
	const int Methods = 5000, Types = 200;

	[MethodImpl(MethodImplOptions.NoInlining)] static long Mark0(Func<int, long> run, int n) => run(n) + 1;
	[MethodImpl(MethodImplOptions.NoInlining)] static long Mark1(Func<int, long> run, int n) => run(n) + 2;
	[MethodImpl(MethodImplOptions.NoInlining)] static long Mark2(Func<int, long> run, int n) => run(n) + 3;
	[MethodImpl(MethodImplOptions.NoInlining)] static long Mark3(Func<int, long> run, int n) => run(n) + 4;
	[MethodImpl(MethodImplOptions.NoInlining)] static long Mark4(Func<int, long> run, int n) => run(n) + 5;
	[MethodImpl(MethodImplOptions.NoInlining)] static long Mark5(Func<int, long> run, int n) => run(n) + 6;
	[MethodImpl(MethodImplOptions.NoInlining)] static long Mark6(Func<int, long> run, int n) => run(n) + 7;
	[MethodImpl(MethodImplOptions.NoInlining)] static long Mark7(Func<int, long> run, int n) => run(n) + 8;
	static readonly Func<Func<int, long>, int, long>[] marks = { Mark0, Mark1, Mark2, Mark3, Mark4, Mark5, Mark6, Mark7 };

	static void Emit(ILGenerator code)
	{
		code.Emit(OpCodes.Ldarg_0);
		code.Emit(OpCodes.Call, typeof(Leaf).GetMethod("Spin"));
		code.Emit(OpCodes.Ldc_I4_1);
		code.Emit(OpCodes.Conv_I8);
		code.Emit(OpCodes.Add);
		code.Emit(OpCodes.Ret);
	}

	[MethodImpl(MethodImplOptions.NoInlining)] static Func<int, long> MakeMethod(int number)
	{
		var method = new DynamicMethod("burner_" + number, typeof(long), new[] { typeof(int) }, typeof(Churn).Module);

		Emit(method.GetILGenerator());
		return method.CreateDelegate<Func<int, long>>();
	}

	[MethodImpl(MethodImplOptions.NoInlining)] static Func<int, long> MakeType(int number)
	{
		var assembly = AssemblyBuilder.DefineDynamicAssembly(new AssemblyName("Made"), AssemblyBuilderAccess.RunAndCollect);
		TypeBuilder type = assembly.DefineDynamicModule("Made").DefineType("Burner.Made" + number, TypeAttributes.Public);

		Emit(type.DefineMethod("Run", MethodAttributes.Public | MethodAttributes.Static, typeof(long), new[] { typeof(int) }).GetILGenerator());
		return type.CreateType().GetMethod("Run").CreateDelegate<Func<int, long>>();
	}

	[MethodImpl(MethodImplOptions.NoInlining)] public static long Run(int n)
	{
		long sum = 0;

		for (int number = 0; number < Methods; number++)
		{
			bool isType = number % (Methods / Types) == 0;

			sum += marks[number % marks.Length](isType ? MakeType(number) : MakeMethod(number), 20 * n);
			if (number % 50 == 49)
				GC.Collect();
		}
		return sum;
	}
}

/* Methods that take known shares of their thread's CPU time, in code of each kind: by its clock, whatever else runs. */
static unsafe class Shares
{
	const long Part = 1000000;	// nanoseconds, of a turn

	[DllImport("libc", EntryPoint = "clock_gettime")] static extern int Clock(int clock, long* time);

	static long Used()
	{
		long* time = stackalloc long[2];

		Clock(3, time);		// CLOCK_THREAD_CPUTIME_ID
		return time[0] * 1000000000 + time[1];
	}

	[MethodImpl(MethodImplOptions.NoInlining)] static void Loops(long end) { while (Used() < end) Leaf.Sink += Scenarios.Calls(200); }
	[MethodImpl(MethodImplOptions.NoInlining)] static void Throws(long end) { while (Used() < end) Leaf.Sink += Thrown.Caught(50); }
	[MethodImpl(MethodImplOptions.NoInlining)] static void Makes(long end) { while (Used() < end) Leaf.Sink += Scenarios.Garbage(1); }
	[MethodImpl(MethodImplOptions.NoInlining)] static void Invokes(long end) { while (Used() < end) Leaf.Sink += Native.Call(20); }
	[MethodImpl(MethodImplOptions.NoInlining)] static void Reflects(long end) { while (Used() < end) Leaf.Sink += Scenarios.Reflection(20); }
	[MethodImpl(MethodImplOptions.NoInlining)] static void Texts(long end) { while (Used() < end) Leaf.Sink += $"{end:x}-{end / 7.0:f3}".Length; }

	static readonly (string Name, int Parts, Action<long> Run)[] all =
	{
		("Loops", 6, Loops), ("Throws", 2, Throws), ("Makes", 4, Makes), ("Invokes", 3, Invokes), ("Reflects", 1, Reflects),
		("Texts", 5, Texts),
	};
	static readonly long[] used = new long[all.Length];

	public static long Run(int n)
	{
		for (int i = 0; i < all.Length; i++)
		{
			long before = Used();

			all[i].Run(before + all[i].Parts * Part);
			used[i] += Used() - before;
		}
		return n;
	}

	public static void Tell()
	{
		for (int i = 0; i < all.Length && used[i] > 0; i++)
			Console.WriteLine(FormattableString.Invariant($"SHARE\tBurner.Shares.{all[i].Name}\t{used[i] / 1e9}"));
	}
}

static class Program
{
	static readonly (string Name, Func<int, long> Run)[] all =
	{
		("calls", Scenarios.Calls), ("squares", Scenarios.Squares), ("circles", Scenarios.Circles),
		("references", Scenarios.References), ("values", Scenarios.Values), ("methods", Scenarios.Methods),
		("nested", Scenarios.Nested), ("lambdas", Scenarios.Lambdas), ("locals", Scenarios.Locals),
		("captures", Scenarios.Captures), ("iterators", Scenarios.Iterators), ("deep", Scenarios.Deep),
		("deep_dynamic", Scenarios.DeepDynamic), ("stack", Scenarios.Stack),
		("large", Scenarios.Large), ("dynamic", Scenarios.Dynamic), ("reflection", Scenarios.Reflection),
		("garbage", Scenarios.Garbage), ("native", Native.Call), ("turns", Native.Many), ("pointer", Native.Pointer),
		("suppressed", Native.Suppressed), ("caught", Thrown.Caught), ("filtered", Thrown.Filtered),
		("finally", Thrown.Finally), ("passed", Thrown.Passed), ("twice", Thrown.Twice),
		("virtual_references", Scenarios.VirtualReferences), ("virtual_values", Scenarios.VirtualValues),
		("tail", Scenarios.Tail), ("collectible", Scenarios.Collectible), ("pattern", Scenarios.Pattern),
		("vectors", Scenarios.Vectors), ("async", Scenarios.Async), ("collected", Scenarios.Collected),
		("within", Thrown.Within), ("disposed", Thrown.Disposed), ("managed", Scenarios.Managed),
		("tail_many", Scenarios.TailMany), ("context", Scenarios.Context),
	};

	static (string Name, Func<int, long> Run)[] scenarios = all;

	/* Run when they are asked for. */
	static readonly (string Name, Func<int, long> Run)[] others =
	{
		("churn", Churn.Run), ("trip", Aside.Crowd.Run), ("steps", Steps),
		("thrown", Throws), ("loops", Loops), ("shares", Shares.Run), ("stubs", Scenarios.Stubs),
	};

	/* Some of them with little work each, and few collections, for who executes them one instruction at a time. */
	[MethodImpl(MethodImplOptions.NoInlining)] static long StepThrough((string Name, Func<int, long> Run)[] some, int n)
	{
		long sum = 0;

		Aside.Collector.Pause = 300;
		foreach (var scenario in some)
			sum += scenario.Run(n);
		return sum;
	}

	static bool IsThrown((string Name, Func<int, long> Run) scenario) => scenario.Run.Method.DeclaringType == typeof(Thrown);

	static readonly (string Name, Func<int, long> Run)[] thrown = Array.FindAll(all, IsThrown);
	/* That spend little time in the runtime: their loops become code of on-stack replacement. */
	static readonly string[] simple = { "calls", "squares", "captures", "iterators", "stack", "garbage", "vectors" };
	static readonly (string Name, Func<int, long> Run)[] loops =
		Array.FindAll(all, scenario => Array.IndexOf(simple, scenario.Name) >= 0);
	static int throws;

	[MethodImpl(MethodImplOptions.NoInlining)] static long Steps(int n) => StepThrough(all, 12) + n;
	[MethodImpl(MethodImplOptions.NoInlining)] static long Loops(int n) => StepThrough(loops, 12) + n;
	/* Now and then much work, so that it is found in a handler. */
	[MethodImpl(MethodImplOptions.NoInlining)] static long Throws(int n) => StepThrough(thrown, ++throws % 16 == 0 ? 20000 : 12) + n;

	[MethodImpl(MethodImplOptions.NoInlining)] static void Turn(Func<int, long> run, int n) => Leaf.Sink += run(n);

	static volatile bool isTold;

	/*
	 * For ever in one call: it becomes code of on-stack replacement. The last turn tells what became of code that was
	 * compiled after the others: on a busy machine that is after few turns.
	 */
	[MethodImpl(MethodImplOptions.NoInlining)] static void Loop(double seconds)
	{
		var watch = Stopwatch.StartNew();
		bool isLast = false;

		Leaf.Part("Burner.Program..cctor");
		for (int turn = 0; !isLast; turn++)
		{
			isLast = watch.Elapsed.TotalSeconds >= seconds || isTold;
			for (int i = 0; i < scenarios.Length; i++)
			{
				Leaf.Tell(isLast, turn, scenarios[i].Name);
				Turn(scenarios[i].Run, Leaf.Much(turn));
			}
		}
	}

	static void Main(string[] args)
	{
		Leaf.Reports = "start";
		Leaf.Part("Burner.Scenarios..cctor");
		Leaf.Part("Burner.Native..cctor");
		if (args.Length > 1)
			Scenarios.Depth = int.Parse(args[1]);
		if (args.Length > 2)
			scenarios = Array.FindAll(scenarios.Concat(others).ToArray(), scenario => scenario.Name == args[2]);
		using var told = PosixSignalRegistration.Create(PosixSignal.SIGTERM, signal =>
		{
			signal.Cancel = true;
			isTold = true;
		});
		Loop(args.Length > 0 ? double.Parse(args[0], System.Globalization.CultureInfo.InvariantCulture) : 2);
		Shares.Tell();
		Console.WriteLine("CPU\t" + Process.GetCurrentProcess().TotalProcessorTime.TotalSeconds.ToString(
			System.Globalization.CultureInfo.InvariantCulture));
	}
}

}

namespace Aside
{

static class Collector
{
	public static int Pause = 1;	// milliseconds
	static Thread thread;

	static void Run()
	{
		for (;;)
		{
			GC.Collect(0);
			Thread.Sleep(Pause);
		}
	}

	public static void Start()
	{
		if (thread != null)
			return;
		thread = new Thread(Run) { IsBackground = true };
		thread.Start();
	}
}

/* Threads that call all the time, and collections: each waits where its return address was replaced. */
static class Crowd
{
	const int Threads = 12;
	static long sink;
	static bool isStarted;

	[MethodImpl(MethodImplOptions.NoInlining)] static long Least(long n) => n * 3 + (n >> 5);

	[MethodImpl(MethodImplOptions.NoInlining)] static long Middle(int n)
	{
		long sum = 0;

		for (int i = 0; i < n; i++)
			sum += Least(sum + i);
		return sum;
	}

	static void Work()
	{
		for (;;)
			sink += Middle(1000);
	}

	public static long Run(int n)
	{
		for (int i = 0; i < Threads && !isStarted; i++)
			new Thread(Work) { IsBackground = true }.Start();
		isStarted = true;
		for (int i = 0; i < 50; i++)
			GC.Collect(0);
		return n;
	}
}

}
