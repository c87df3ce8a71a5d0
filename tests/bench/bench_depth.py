#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The deepest native stack that is walked to its root, by recursion of growing depth."""
import collections
import os
import tempfile

import measure
import stacks

BAR = 1024
DEPTHS = (900, 1024, 1040, 1080, 1104, 1140, 1200, 1270, 1400)


def main():
    measure.begin()
    with tempfile.TemporaryDirectory() as directory:
        path = os.path.join(directory, "x.pb.gz")
        measure.record(["-F", "499", "-o", path], [measure.program("deepstack"), "6",
                                                   *map(str, DEPTHS)])
        samples = stacks.read_profile(path).samples
    complete, cut, reasons = {}, {}, collections.Counter()
    for sample in samples:
        frames = stacks.without_kernel(sample.frames)
        if not any(frame.name == "leaf" for frame in frames[:1]):
            continue
        found = complete if stacks.is_complete(sample.frames) else cut
        found[len(frames)] = found.get(len(frames), 0) + sample.count
        if found is cut:
            reasons[len(frames) - 1, frames[-1].name] += sample.count
    for (frames, reason), count in reasons.items():
        measure.note(f"cut after {frames} frames: {reason}, {count} samples")
    for frames, count in sorted(complete.items()):
        measure.note(f"complete: {frames} frames, {count} samples")
    deepest = max((frames for frames in complete if frames in DEPTHS), default=0)
    early = sum(count for frames, count in cut.items() if frames <= BAR)
    share = 100 * early / max(1, sum(cut.values()) + sum(complete.values()))
    measure.row("deepest complete native stack, of " + " ".join(map(str, DEPTHS)),
                deepest if share <= 0.5 else 0, "frames", f">= {BAR}", BAR, at_least=True)
    measure.row(f"stacks cut before {BAR} frames", share, "%")


if __name__ == "__main__":
    main()
