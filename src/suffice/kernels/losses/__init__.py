"""Compiled kernels of the losses, one module each, named by `Loss.kernels` and bound to the loops by `kernels.compile.ForLoss`.

`scores` are those of one row, `label` is its outcome, `settings` are `Loss.settings` (margin, softness, ...), `own` are the row's
multipliers r. K outcomes. A loss needs the first of these; the next two are for speed, with defaults made of the first (`defaults`):

    weigh(scores, label, settings, weights) -> loss              weights <- w: minus the gradient of the loss in the scores
    value(scores, norm, label, settings, scratch) -> loss        `norm` is log sum exp of the scores
    weigh_largest(scores, label, settings, least, weights)       weights <- c w, those of at most c * least left out; returns c, 0 if
                                                                 none is left

A loss with a dual (its own part of it is D(r), and `F = max over r`) brings what the incremental learners ask of it:

    select(scores, own, label, settings, tolerance, posterior, active, moves) -> (n, norm, largest, slack)
        active[:n] <- outcomes whose multipliers may move (n = 0: none), moves[:n] <- the moves wanted, the largest of them; `slack`
        above zero says how far the row is from moving at all. `posterior` and `norm` are for `search`.
    NEEDS_SLOPES, direct(scores, slopes, own, active, n, weight, settings, room, moves) -> largest
        where moves depend on how far scores give way (slopes[:n] = d score / d moment): fills them. `room` is scratch, 3 x K.
    search(scores, norm, posterior, active, n, slopes, moves, highest, logs) -> rate in (0, highest]
        the best step along `moves` where scores follow their slopes (slopes[:n] times the row's weight); by default the longest.
    rise(moved, delta, own, weight, label, settings, rate) -> the slope of the dual at `rate` along delta / weight, scores `moved`
    gap(scores, norm, own, label, settings) -> (duality gap of the row, what softness adds to its loss)
    binary_step(lead, own, slope, steeper, settings, tolerance) -> (step, largest wanted change, slack)
        two outcomes, optional: the label's multiplier is `own`, its score is ahead by `lead` and gains `slope` a step.
"""
