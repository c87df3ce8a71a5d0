#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The judge of .NET's stacks can fail: true stacks, changed in each way that a profiler could be wrong."""
import unittest

import burner
import check_dotnet
import perf_map
import stacks

ROOT = [stacks.Frame("coreclr_execute_assembly", "libcoreclr.so"), stacks.Frame("_start", "Burner")]
TRUE = ["Burner.Leaf.Spin", "Burner.Scenarios.Small", "Burner.Scenarios.Calls", "Burner.Program.Loop", "Burner.Program.Main"]
SAID = ("STACK\tcalls\t" + ";".join(["System.Start", *reversed(TRUE)]) + "\nLINES\tcalls\t0;1;2;0;4;5\n"
        "LINES\tcalls\t0;1;22;3;4;5\nCPU\t1.5\n")
LINES = dict(zip(TRUE, [99, 4, 3, 22, 1]))


def frames(names, **lines):
    known = {**LINES, **lines}
    return [stacks.LineFrame(name, "", "/src/Burner.cs", known.get(name, 0)) for name in names] + ROOT


class Burner(unittest.TestCase):
    def setUp(self):
        self.judge = burner.Judge(burner.Said(SAID))

    def test_true_stacks_are_true(self):
        self.assertIsNone(self.judge.why_wrong(frames(TRUE)))
        self.assertEqual(self.judge.seen, {"calls"})
        self.assertIsNone(self.judge.why_wrong(frames(["System.GC.Collect", *TRUE[2:]])))
        self.assertIsNone(self.judge.why_wrong(ROOT))
        self.assertIsNone(self.judge.why_wrong(frames(["Burner.Scenarios.Numbers..ctor", *TRUE[2:]])))

    def test_who_comes_first_runs_a_static_constructor(self):
        self.assertIsNone(self.judge.why_wrong(frames(["Burner.Other..ctor", "Burner.Scenarios..cctor", *TRUE[2:]])))
        self.assertIsNotNone(self.judge.why_wrong(frames(["Burner.Scenarios..cctor", TRUE[0], *TRUE[2:]])))

    def test_lines_are_those_that_were_said_at_any_time(self):
        self.judge.why_wrong(frames(TRUE))
        self.judge.why_wrong(frames(TRUE, **{"Burner.Program.Loop": 2}))
        self.assertEqual((self.judge.n_lines, self.judge.wrong_lines), (8, {}))
        for name in TRUE[1:]:
            judge = burner.Judge(burner.Said(SAID))
            judge.why_wrong(frames(TRUE, **{name: 7}))
            self.assertEqual(sum(judge.wrong_lines.values()), 1, name)
        judge = burner.Judge(burner.Said(SAID))
        judge.why_wrong([frame if not isinstance(frame, stacks.LineFrame) else frame._replace(source="")
                         for frame in frames(TRUE)])
        self.assertEqual(sum(judge.wrong_lines.values()), 4)

    def test_a_handler_is_where_it_calls(self):
        """StackTrace says where the exception came from: line 1. Anywhere else but at the call is wrong."""
        names = ["Burner.Leaf.Spin", "Burner.Thrown.Caught", "Burner.Program.Main"]
        said = "STACK\tcaught\t" + ";".join(reversed(names)) + "\nLINES\tcaught\t5;1;0\nCPU\t1\n"
        with open(burner.SOURCES[0], encoding="utf-8") as file:
            source = file.read().splitlines()
        call = 1 + next(i for i, line in enumerate(source) if "sum += Leaf.Spin(n);" in line)
        for line, n_wrong in ((1, 0), (call, 0), (call + 1, 1), (call - 1, 1), (0, 1), (len(source) + 1, 1)):
            judge = burner.Judge(burner.Said(said))
            self.assertIsNone(judge.why_wrong(frames(names, **{"Burner.Thrown.Caught": line, "Burner.Program.Main": 5})))
            self.assertEqual(sum(judge.wrong_lines.values()), n_wrong, line)

    def test_a_stack_that_is_cut_off_is_seen(self):
        self.assertIsNone(burner.why_incomplete(frames(TRUE)))
        self.assertIsNone(burner.why_incomplete([*frames(TRUE)[:-1], stacks.Frame("Burner+0x7190", "Burner")]))
        self.assertIsNotNone(burner.why_incomplete(frames(TRUE)[:-1]))
        self.assertIsNotNone(burner.why_incomplete([*frames(TRUE)[:3], stacks.Frame("[truncated: out of tail calls]", "")]))

    def test_a_caller_that_is_missing_is_seen(self):
        for at in range(1, len(TRUE)):
            self.assertIsNotNone(self.judge.why_wrong(frames(TRUE[:at] + TRUE[at + 1:])), at)

    def test_a_frame_that_stands_twice_is_seen(self):
        for at in range(len(TRUE)):
            self.assertIsNotNone(self.judge.why_wrong(frames(TRUE[:at] + TRUE[at:at + 1] + TRUE[at:])), at)

    def test_a_name_that_never_ran_is_seen(self):
        for at in range(len(TRUE)):
            self.assertIsNotNone(self.judge.why_wrong(frames([*TRUE[:at], "Burner.Other.Run", *TRUE[at + 1:]])), at)

    def test_native_code_in_between_is_seen(self):
        between = [*frames(TRUE[:2])[:2], stacks.Frame("memcpy", "libc.so.6"), *frames(TRUE[2:])]
        self.assertIsNotNone(self.judge.why_wrong(between))

    def test_a_name_of_what_was_there_before_is_seen(self):
        made = [stacks.Frame(name, "") for name in ("Burner.Leaf.Spin", "burner_12", "Burner.Churn.Mark4", "Burner.Churn.Run")]
        self.assertIsNone(check_dotnet.why_not_made(made))
        self.assertTrue(check_dotnet.why_not_made([made[0], stacks.Frame("burner_13", ""), *made[2:]]))
        self.assertTrue(check_dotnet.why_not_made([made[0], stacks.Frame("Burner.Made25.Run", ""), *made[2:]]))
        self.assertEqual(check_dotnet.why_not_made([made[0], stacks.Frame("[dotnet: unknown function]", ""), *made[2:]]), "")

    def test_callers_below_a_replaced_return_address_are_judged(self):
        trip = [stacks.Frame(name, "libcoreclr.so") for name in ("libcoreclr.so+0x1", "libcoreclr.so+0x20")]
        crowd = [stacks.Frame(name, "") for name in (*check_dotnet.CROWD, "System.Threading.Thread.StartCallback")]
        self.assertTrue(check_dotnet.is_in_trip(trip, "libcoreclr.so+0x20"))
        self.assertFalse(check_dotnet.is_in_trip(crowd, "libcoreclr.so+0x20"))
        for true in (crowd, crowd[1:]):
            self.assertIsNone(check_dotnet.why_not_tripped(trip + true, "libcoreclr.so+0x20"))
        for wrong in ([crowd[0], crowd[2]], crowd[2:], [crowd[0], *crowd]):
            self.assertTrue(check_dotnet.why_not_tripped(trip + wrong, "libcoreclr.so+0x20"))

    def test_shares_are_those_of_known_cpu_times(self):
        said = burner.Said("SHARE\tBurner.Shares.One\t1.5\nSHARE\tBurner.Shares.Three\t4.5\nCPU\t6.1\n").shares
        one, three = ([stacks.Frame("memcpy", "libc.so.6"), stacks.Frame(name, "")] + ROOT for name in said)
        self.assertEqual(check_dotnet.why_not_shared([stacks.Sample(one, 250, {}), stacks.Sample(three, 750, {}), stacks.Sample(ROOT, 99, {})], said), [])
        for wrong in ([stacks.Sample(one, 500, {}), stacks.Sample(three, 500, {})], [stacks.Sample(three, 1000, {})], [stacks.Sample(ROOT, 9, {})]):
            self.assertTrue(check_dotnet.why_not_shared(wrong, said))

    def test_names_are_compared_with_the_map_of_the_runtime(self):
        said = perf_map.said([
            "0x7f00 12 int64 [Burner] Burner.Box`1[System.__Canon]::Turn[int32](!!0,int32)[OptimizedTier1]\n",
            "7f40 10 void [System.Private.CoreLib] System.A+B::.ctor()[QuickJitted]\n",
            "7f80 110 stub InitThreadManagerPerfMapData<JIT_CopiedWriteBarriers>\n"])
        names, costs = perf_map.named([
            "NAME\t7f00\tBurner.Box<T>.Turn<U>\tBurner.Box`1[System.__Canon].Turn[System.Int32](!!0,int)\t5\n",
            "NAME\t7f40\tSystem.A.B..ctor\tSystem.A+B..ctor()\t0\n", "COST\tnew\t76000\t90000\n"])
        self.assertEqual(perf_map.differences(said, names), (2, []))
        self.assertEqual(costs, {"new": (76000, 90000)})
        for wrong in ("Burner.Box`1[System.__Canon].Spin[System.Int32](!!0,int)", "", "-5"):
            self.assertEqual(len(perf_map.differences(said, {**names, 0x7f00: wrong})[1]), 1)


if __name__ == "__main__":
    unittest.main()
