// SPDX-License-Identifier: Apache-2.0
//
// What ClrMD says of each thread of a stopped process, or of a core: Stacks PID|CORE DAC
//
//	THREAD	TID
//	FRAME	ADDRESS	STACK_POINTER	METHOD		innermost first; ADDRESS of a Frame of the runtime is 0
using System;
using Microsoft.Diagnostics.Runtime;

using DataTarget target = int.TryParse(args[0], out int pid) ? DataTarget.AttachToProcess(pid, true) : DataTarget.LoadDump(args[0]);
using ClrRuntime runtime = target.ClrVersions[0].CreateRuntime(args[1], true);

foreach (ClrThread thread in runtime.Threads)
{
	Console.WriteLine($"THREAD\t{thread.OSThreadId}");
	foreach (ClrStackFrame frame in thread.EnumerateStackTrace())
	{
		ulong address = frame.Kind == ClrStackFrameKind.ManagedMethod ? frame.InstructionPointer : 0;

		Console.WriteLine($"FRAME\t{address:x}\t{frame.StackPointer:x}\t{frame.Method?.Signature ?? frame.FrameName}");
	}
}
