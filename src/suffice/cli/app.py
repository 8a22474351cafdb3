"""The commands and their options. Everything heavy is imported by the command that needs it."""

from __future__ import annotations

import sys
from typing import Annotated, Any

import typer

from . import papers
from .notices import print_lines
from .options import (
    AsJson,
    Data,
    Decimal,
    Delimiter,
    Drop,
    Encoding,
    Format,
    Header,
    Ids,
    Kinds,
    Missing,
    Model,
    Names,
    Output,
    Target,
    Text,
)
from .reading import kinds_of, reader_of

HELP = """Generative models from files: train, predict, evaluate, inspect.

"-" stands for standard input or output. Exit codes: 0 done, 1 a failure inside, 2 wrong usage, 3 bad data, 4 bad model
file. Errors are one line; --debug shows where they arose."""
MODELS = """auto (of a table: table, else naive-bayes), naive-bayes (by the columns), gaussian-nb, multinomial-nb, complement-nb,
bernoulli-nb, categorical-nb, poisson-nb, mixed-nb, discriminant, mixture-regressor, gaussian-regressor, mixture, table (the best),
lda (topics) or hmm (sequences)."""
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
def train(
    data: Data,
    output: Output,
    model: Annotated[str, typer.Option(help=MODELS)] = "auto",
    loss: Annotated[
        str | None,
        typer.Option(
            help="ncll (conditional likelihood), hinge or nll (likelihood); by default hinge for words, else ncll."
        ),
    ] = None,
    target: Target = None,
    task: Annotated[
        str, typer.Option(help="classification, regression, or auto: regression where the target has many fractions.")
    ] = "auto",
    seed: Annotated[int | None, typer.Option(help="Of random numbers.")] = 0,
    settings: Annotated[list[str] | None, typer.Option("--set", metavar="NAME=VALUE", help="Any parameter.")] = None,
    kind: Kinds = None,
    drop: Drop = None,
    id_: Ids = None,
    text: Text = None,
    numeric: Names = None,
    categorical: Names = None,
    holdout: Annotated[float, typer.Option(metavar="SHARE", help="Rows held out for scores; 0: none.")] = 0.2,
    cv: Annotated[int | None, typer.Option(metavar="FOLDS", help="Scores by cross-validation instead.")] = None,
    classes: Annotated[
        str | None, typer.Option(metavar="A,B,C", help="All classes, if a long file starts with few.")
    ] = None,
    memory: Annotated[
        float, typer.Option(metavar="MB", help="Rows kept in memory; the rest is learned as a stream.")
    ] = 256,
    chunk_rows: Annotated[int, typer.Option(min=1, help="Rows read at a time.")] = 1 << 16,
    max_words: Annotated[int | None, typer.Option(help="Of texts: only the most frequent words.")] = None,
    workers: Annotated[
        int | None,
        typer.Option(metavar="N", help="Processes of a dask cluster on this machine; a pattern of files in blocks."),
    ] = None,
    scheduler: Annotated[str | None, typer.Option(metavar="URL", help="Of a dask cluster: tcp://host:8786.")] = None,
    scheduler_file: Annotated[str | None, typer.Option(metavar="FILE", help="Of a dask cluster.")] = None,
    checkpoint: Annotated[
        str | None, typer.Option(metavar="DIR", help="Of data in blocks: from where the same training goes on.")
    ] = None,
    sequence: Annotated[
        str | None, typer.Option(metavar="COL", help="Of hmm: which sequence a row is a step of.")
    ] = None,
    time: Annotated[str | None, typer.Option(metavar="COL", help="Of hmm: the order of the steps.")] = None,
    format: Format = None,
    header: Header = None,
    delimiter: Delimiter = None,
    encoding: Encoding = None,
    decimal: Decimal = None,
    na: Missing = None,
) -> None:
    """Train a classifier or a regressor: suffice train adult.csv --target income -o adult.sfc

    Says how the columns were read, scores on rows held out, and what was kept; the model is trained on all rows."""
    from ..losses import LOSSES
    from . import regression, scale, sequences, training
    from .guarding import refuse_overwriting
    from .holding import check
    from .notices import UsageError

    if model not in (choices := (*training.CHOICES, *regression.MODELS)):
        raise UsageError(f"--model {model!r} is not one of {', '.join(choices)}")
    if task not in regression.TASKS:
        raise UsageError(f"--task {task!r} is not one of {', '.join(regression.TASKS)}")
    if loss is not None and loss not in LOSSES:
        raise UsageError(f"--loss {loss!r} is not one of {', '.join(LOSSES)}")
    refuse_overwriting(output, data=data)
    check(holdout, cv)
    kinds = kinds_of(numeric, categorical, kind)
    options: dict[str, Any] = {
        "target": target,
        "ignore": [*(drop or []), *(id_ or [])],
        "text": text,
        "bad_cells": "missing",
    }
    options |= {"header": header, "delimiter": delimiter, "encoding": encoding, "decimal": decimal, "na": na}
    all_kinds = "categorical" if model == "categorical-nb" else kinds
    where = scale.Where(workers, scheduler, scheduler_file, checkpoint)
    if where or scale.is_pattern(data):
        params = ({} if loss is None else {"loss": loss}) | {"random_state": seed} | training.parsed(settings or [])
        options = scale.options_of(options, all_kinds, format, max_words)
        scale.train(data, output, model=model, params=params, where=where, options=options)
        return
    reader = reader_of(data, format, chunk_rows=chunk_rows, kinds=all_kinds, **options)
    params = ({} if loss is None else {"loss": loss}) | {"random_state": seed} | training.parsed(settings or [])
    if model != "hmm" and (sequence or time):
        raise UsageError(f"--sequence and --time are for --model hmm, not for {model}")
    named = classes.split(",") if classes else None
    asked = training.Asked(named, memory, max_words, kinds, text, holdout, cv, task)
    with reader:
        if model == "hmm":
            sequences.train(reader, output, params=params, sequence=sequence, time=time)
        else:
            training.train(reader, output, model=model, params=params, asked=asked)


@app.command()
def predict(
    model: Model,
    data: Data = "-",
    output: Output = "-",
    proba: Annotated[bool, typer.Option("--proba", help="Also the probability of every class.")] = False,
    explain: Annotated[bool, typer.Option("--explain", help="Also what spoke most for the class (log-odds).")] = False,
    keep: Annotated[list[str] | None, typer.Option(metavar="COL", help="Copy a column of DATA, such as an id.")] = None,
    as_json: AsJson = False,
    format: Format = None,
    header: Header = None,
    delimiter: Delimiter = None,
    encoding: Encoding = None,
    decimal: Decimal = None,
    na: Missing = None,
) -> None:
    """The class of every row, as CSV or lines of JSON. A cell that cannot be read is missing, with a warning."""
    from . import prediction, sequences
    from .errors import model_from
    from .guarding import refuse_overwriting

    refuse_overwriting(output, data=data, model=model)
    trained, _ = model_from(model)
    options = prediction.reading_options(trained, with_target=False) | {"keep": keep or []}
    options |= {"header": header, "delimiter": delimiter, "encoding": encoding, "decimal": decimal, "na": na}
    with reader_of(data, format or trained.reading_format, **options) as reader:
        if trained.format in sequences.FORMATS:
            sequences.predict(trained, reader, output, proba=proba, as_json=as_json)
        else:
            prediction.predict(trained, reader, output, proba=proba, explain=explain, as_json=as_json)


@app.command()
def evaluate(
    model: Model,
    data: Data = "-",
    target: Target = None,
    as_json: AsJson = False,
    format: Format = None,
    header: Header = None,
    delimiter: Delimiter = None,
    encoding: Encoding = None,
    decimal: Decimal = None,
    na: Missing = None,
) -> None:
    """Accuracy, log-loss, calibration error (15 bins), the losses per row, confusion; of a regressor RMSE, NLL, CRPS and coverage."""
    import json

    from . import prediction, regression, sequences
    from .errors import model_from

    trained, _ = model_from(model)
    options = prediction.reading_options(trained, with_target=True)
    if target is not None:
        options["target"] = target
    options |= {"header": header, "delimiter": delimiter, "encoding": encoding, "decimal": decimal, "na": na}
    with reader_of(data, format or trained.reading_format, **options) as reader:
        room: Any = sequences if trained.format in sequences.FORMATS else prediction
        result = (regression if trained.is_regressor else room).evaluate(trained, reader)
    text = regression.lines if trained.is_regressor else prediction.evaluation_lines
    print_lines([json.dumps(result, ensure_ascii=False)] if as_json else text(result))


@app.command()
def compare(
    first: Annotated[str, typer.Argument(metavar="A.sfc", help="A model file.")],
    second: Annotated[str, typer.Argument(metavar="B.sfc", help="Another one, of the same classes.")],
    data: Annotated[str, typer.Argument(metavar="DATA", help="Rows with labels that neither was trained on.")],
    target: Target = None,
    as_json: AsJson = False,
    format: Format = None,
    header: Header = None,
    delimiter: Delimiter = None,
    encoding: Encoding = None,
    decimal: Decimal = None,
    na: Missing = None,
) -> None:
    """Two models on the same rows: scores side by side, and differences with their standard errors."""
    import json

    from . import comparison, prediction
    from .errors import model_from

    common = {"header": header, "delimiter": delimiter, "encoding": encoding, "decimal": decimal, "na": na}
    found = []
    for path in (first, second):
        trained, _ = model_from(path)
        options = prediction.reading_options(trained, with_target=True) | common
        options |= {} if target is None else {"target": target}
        with reader_of(data, format or trained.reading_format, **options) as reader:
            found.append(comparison.scored(trained, reader))
    result = comparison.compared(found[0], found[1], (first, second))
    print_lines([json.dumps(result, ensure_ascii=False)] if as_json else comparison.lines(result))


@app.command()
def report(
    model: Model,
    data: Data = "-",
    output: Output = "report.html",
    target: Target = None,
    max_rows: Annotated[int, typer.Option(min=1, help="Rows read for the report.")] = 100_000,
    format: Format = None,
    header: Header = None,
    delimiter: Delimiter = None,
) -> None:
    """One page of HTML about a model on rows: scores, reliability, columns that tell, worst rows. Needs no network."""
    from . import prediction, reporting
    from .errors import model_from

    reporting.refuse_input(output, model, data)
    trained, _ = model_from(model)
    options = prediction.reading_options(trained, with_target=True)
    if target is not None:
        options["target"] = target
    with reader_of(data, format or trained.reading_format, header=header, delimiter=delimiter, **options) as reader:
        reporting.report(trained, reader, output, max_rows)


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
def convert(
    data: Data,
    output: Annotated[str, typer.Argument(metavar="OUT", help="The new file; its name tells the format.")],
    to: Annotated[str | None, typer.Option(help="The new format, if the name does not tell.")] = None,
    target: Target = None,
    kind: Kinds = None,
    drop: Drop = None,
    numeric: Names = None,
    categorical: Names = None,
    format: Format = None,
    header: Header = None,
    delimiter: Delimiter = None,
    encoding: Encoding = None,
    decimal: Decimal = None,
    na: Missing = None,
) -> None:
    """Between CSV, TSV, Parquet, svmlight and text, in chunks."""
    from . import conversion
    from .guarding import refuse_overwriting

    refuse_overwriting(output, data=data)
    to = conversion.format_named(output, to)
    options: dict[str, Any] = {"target": target, "kinds": kinds_of(numeric, categorical, kind), "ignore": drop or []}
    options |= {"header": header, "delimiter": delimiter, "encoding": encoding, "decimal": decimal, "na": na}
    with reader_of(data, format, **options) as reader:
        conversion.convert(reader, output, to)


papers.add_to(app)
