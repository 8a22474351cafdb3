"""The commands and their options. Everything heavy is imported by the command that needs it."""

from __future__ import annotations

import contextlib
import sys
from typing import Annotated, Any

import typer

from . import papers
from .notices import print_lines
from .options import (
    AsJson,
    Columns,
    Data,
    Layout,
    Learning,
    LongFile,
    Model,
    Output,
    Target,
    TrainedColumns,
    Where,
    grouped,
)
from .reading import kinds_of, reader_of

HELP = """Generative models from files: train, predict, evaluate, inspect.

"-" stands for standard input or output. Exit codes: 0 done, 1 a failure inside, 2 wrong usage, 3 bad data, 4 bad model
file. Errors are one line; --debug shows where they arose."""
ClickException: Any = next(cls for cls in typer.BadParameter.__mro__ if cls.__name__ == "ClickException")
app = typer.Typer(help=HELP, no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False)


def run(arguments: list[str]) -> int:
    """Parse and run; the exit code."""
    command = typer.main.get_command(app)
    try:
        code = command.main(args=arguments, prog_name="suffice", standalone_mode=False)
    except ClickException as error:
        path = error.ctx.command_path if getattr(error, "ctx", None) else "suffice"
        if message := error.format_message():  # empty: no command was given, and the help is printed
            print(f"suffice: {message} (see `{path} --help`)", file=sys.stderr)
        return int(error.exit_code)
    except SystemExit as error:  # click's answer to a closed pipe
        if isinstance(error.__context__, BrokenPipeError):
            raise error.__context__ from None
        raise
    except typer.Exit as error:
        return int(error.exit_code)
    except typer.Abort as error:
        raise KeyboardInterrupt from error
    return code if isinstance(code, int) else 0


def _version(wanted: bool) -> None:
    if wanted:
        from .. import __version__

        print(f"suffice {__version__}")
        raise typer.Exit


@app.callback()
def common(
    debug: Annotated[bool, typer.Option("--debug", help="Show where an error arose (anywhere on the line).")] = False,
    version: Annotated[bool, typer.Option("--version", callback=_version, is_eager=True)] = False,
) -> None:
    if not debug:
        from .notices import short_warnings

        short_warnings()


@app.command()
@grouped
def train(
    data: Data,
    output: Output,
    learning: Learning,
    columns: TrainedColumns,
    layout: Layout,
    long: LongFile,
    where: Where,
) -> None:
    """Train a classifier or a regressor: suffice train adult.csv --target income -o adult.sfc

    Prints how the columns were read, scores on rows held out, and what was chosen. The model is trained on all rows."""
    from . import scale, sequences, training
    from .guarding import refuse_overwriting
    from .notices import UsageError

    training.check(learning)
    refuse_overwriting(output, data=data)
    model, params = learning.model, training.params_of(learning)
    if model not in ("hmm", "gaussian-hmm") and (columns.sequence or columns.time):
        raise UsageError(f"--sequence and --time are for --model hmm and gaussian-hmm, not for {model}")
    kinds = kinds_of(columns)
    all_kinds = "categorical" if model == "categorical-nb" else kinds
    ignore = [*(columns.drop or []), *(columns.id_ or [])]
    options: dict[str, Any] = {"target": columns.target, "ignore": ignore, "text": columns.text} | layout.options()
    if where or scale.is_pattern(data) or model in training.DENSITIES:
        params |= {name: getattr(columns, name) for name in ("sequence", "time") if getattr(columns, name)}
        blocks = scale.options_of(options, all_kinds, layout.format, long.max_words)
        scale.train(data, output, model=model, params=params, where=where, options=blocks)
        return
    options |= {"bad_cells": "missing", "kinds": all_kinds, "chunk_rows": long.chunk_rows}
    with reader_of(data, layout.format, **options) as reader:
        if model == "hmm":
            sequences.train(reader, output, params=params, sequence=columns.sequence, time=columns.time)
        else:
            asked = training.Asked(learning, long, kinds, columns.text)
            training.train(reader, output, params=params, asked=asked)


@app.command()
@grouped
def predict(
    *,
    model: Model,
    data: Data = "-",
    output: Output = "-",
    proba: Annotated[bool, typer.Option("--proba", help="Also the probability of every class.")] = False,
    explain: Annotated[bool, typer.Option("--explain", help="Also what spoke most for the class (log-odds).")] = False,
    keep: Annotated[list[str] | None, typer.Option(metavar="COL", help="Copy a column of DATA, such as an id.")] = None,
    as_json: AsJson = False,
    layout: Layout,
) -> None:
    """The class of every row, as CSV or lines of JSON. A cell that cannot be read is missing, with a warning."""
    from . import prediction, sequences
    from .errors import model_from
    from .guarding import refuse_overwriting

    refuse_overwriting(output, data=data, model=model)
    trained, _ = model_from(model)
    options = prediction.reading_options(trained, with_target=False) | {"keep": keep or []}
    options |= layout.options()
    with reader_of(data, layout.format or trained.reading_format, **options) as reader:
        if trained.format in sequences.FORMATS:
            sequences.predict(trained, reader, output, proba=proba, as_json=as_json)
        else:
            prediction.predict(trained, reader, output, proba=proba, explain=explain, as_json=as_json)


@app.command()
@grouped
def evaluate(
    *,
    model: Model,
    data: Data = "-",
    target: Target = None,
    as_json: AsJson = False,
    layout: Layout,
) -> None:
    """Accuracy, log-loss, calibration error (15 bins), the losses per row, confusion; of a regressor RMSE, NLL, CRPS and coverage."""
    import json

    from . import prediction, regression, sequences
    from .errors import model_from

    trained, _ = model_from(model)
    options = prediction.reading_options(trained, with_target=True)
    if target is not None:
        options["target"] = target
    options |= layout.options()
    with reader_of(data, layout.format or trained.reading_format, **options) as reader:
        room: Any = sequences if trained.format in sequences.FORMATS else prediction
        result = (regression if trained.is_regressor else room).evaluate(trained, reader)
    text = regression.lines if trained.is_regressor else prediction.evaluation_lines
    print_lines([json.dumps(result, ensure_ascii=False)] if as_json else text(result))


@app.command()
@grouped
def compare(
    *,
    first: Annotated[str, typer.Argument(metavar="A.sfc", help="A model file.")],
    second: Annotated[str, typer.Argument(metavar="B.sfc", help="Another one, of the same classes.")],
    data: Annotated[str, typer.Argument(metavar="DATA", help="Rows with labels that neither was trained on.")],
    target: Target = None,
    as_json: AsJson = False,
    layout: Layout,
) -> None:
    """Two models on the same rows: scores side by side, and differences with their standard errors."""
    import json

    from . import comparison, prediction
    from .errors import model_from

    found = []
    for path in (first, second):
        trained, _ = model_from(path)
        options = prediction.reading_options(trained, with_target=True) | layout.options()
        options |= {} if target is None else {"target": target}
        with reader_of(data, layout.format or trained.reading_format, **options) as reader:
            found.append(comparison.scored(trained, reader))
    result = comparison.compared(found[0], found[1], (first, second))
    print_lines([json.dumps(result, ensure_ascii=False)] if as_json else comparison.lines(result))


@app.command()
@grouped
def report(
    *,
    model: Model,
    data: Data = "-",
    output: Output = "report.html",
    target: Target = None,
    training: Annotated[
        str | None, typer.Option(metavar="FILE", help="The rows of training: are the new ones like them?")
    ] = None,
    max_rows: Annotated[int, typer.Option(min=1, help="Rows read for the report.")] = 100_000,
    layout: Layout,
) -> None:
    """One page of HTML about a model on rows: scores, reliability, columns that tell, worst rows. Needs no network."""
    from . import prediction, reporting
    from .errors import model_from

    reporting.refuse_input(output, model, data, *([] if training is None else [training]))
    trained, _ = model_from(model)
    options = prediction.reading_options(trained, with_target=True)
    if target is not None:
        options["target"] = target
    options |= layout.options()
    format = layout.format or trained.reading_format
    with contextlib.ExitStack() as files:
        reader = files.enter_context(reader_of(data, format, **options))
        before = None if training is None else files.enter_context(reader_of(training, format, **options))
        reporting.report(trained, reader, output, max_rows, before)


@app.command()
def inspect(
    model: Model,
    top: Annotated[int, typer.Option(help="How many features or words.")] = 10,
    as_json: AsJson = False,
) -> None:
    """What a model learned: the header, class means or top words; of a hidden Markov model its states."""
    import json

    from . import inspection, inspection_hmm
    from .errors import model_from

    trained, head = model_from(model, with_chains=True)
    if hasattr(trained, "transmat_"):
        about = inspection_hmm.summary(trained, head, top)
        print_lines([json.dumps(about, ensure_ascii=False)] if as_json else inspection_hmm.lines(about))
        return
    about, found = inspection.summary(trained, head), inspection.learned(trained, top)
    text = [json.dumps(about | found, ensure_ascii=False)] if as_json else inspection.lines(about, found)
    print_lines(text)


@app.command()
@grouped
def convert(
    *,
    data: Data,
    output: Annotated[str, typer.Argument(metavar="OUT", help="The new file; its name tells the format.")],
    to: Annotated[str | None, typer.Option(help="The new format, if the name does not tell.")] = None,
    columns: Columns,
    layout: Layout,
) -> None:
    """Between CSV, TSV, Parquet, svmlight and text, in chunks."""
    from . import conversion
    from .guarding import refuse_overwriting

    refuse_overwriting(output, data=data)
    to = conversion.format_named(output, to)
    options: dict[str, Any] = {"target": columns.target, "kinds": kinds_of(columns), "ignore": columns.drop or []}
    options |= layout.options()
    with reader_of(data, layout.format, **options) as reader:
        conversion.convert(reader, output, to)


papers.add_to(app)
