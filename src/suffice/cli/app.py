"""The commands and their options. Everything heavy is imported by the command that needs it."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any

import typer

from .options import AsJson, Data, Delimiter, Format, Header, Model, Names, Output, Target

HELP = """Generative models from files: train, predict, evaluate, inspect.

"-" stands for standard input or output. Exit codes: 0 done, 1 a failure inside, 2 wrong usage, 3 bad data, 4 bad model
file. Errors are one line; --debug shows where they arose."""
MODELS = """naive-bayes (chooses by the columns), gaussian-nb, multinomial-nb, complement-nb, bernoulli-nb, categorical-nb, poisson-nb,
mixed-nb, discriminant, mixture-regressor, gaussian-regressor, mixture, lda (topics) or hmm (sequences)."""
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


def _reader(path: str, format: str | None, **options: Any) -> Any:
    from ..files import FORMATS, read
    from .errors import data_errors
    from .notices import UsageError

    if format is not None and format not in FORMATS:
        raise UsageError(f"--format {format!r} is not one of {', '.join(FORMATS)}")
    with data_errors(path):
        return read(path, format=format, **options)


def _kinds(numeric: list[str] | None, categorical: list[str] | None) -> dict[str, str]:
    return dict.fromkeys(numeric or [], "numeric") | dict.fromkeys(categorical or [], "categorical")


def _print(lines: Iterable[str]) -> None:
    for line in lines:
        print(line)


@app.command()
def train(
    data: Data,
    output: Output,
    model: Annotated[str, typer.Option(help=MODELS)] = "naive-bayes",
    loss: Annotated[str, typer.Option(help="ncll (conditional likelihood), nll (likelihood) or hinge.")] = "ncll",
    target: Target = None,
    task: Annotated[
        str, typer.Option(help="classification, regression, or auto: regression where the target has many fractions.")
    ] = "auto",
    seed: Annotated[int | None, typer.Option(help="Of random numbers.")] = 0,
    settings: Annotated[list[str] | None, typer.Option("--set", metavar="NAME=VALUE", help="Any parameter.")] = None,
    numeric: Names = None,
    categorical: Names = None,
    ignore: Names = None,
    classes: Annotated[
        str | None, typer.Option(metavar="A,B,C", help="All classes, if a long file starts with few.")
    ] = None,
    memory: Annotated[
        float, typer.Option(metavar="MB", help="Rows kept in memory; the rest is learned as a stream.")
    ] = 256,
    chunk_rows: Annotated[int, typer.Option(min=1, help="Rows read at a time.")] = 1 << 16,
    max_words: Annotated[int | None, typer.Option(help="Of texts: only the most frequent words.")] = None,
    sequence: Annotated[
        str | None, typer.Option(metavar="COL", help="Of hmm: which sequence a row is a step of.")
    ] = None,
    time: Annotated[str | None, typer.Option(metavar="COL", help="Of hmm: the order of the steps.")] = None,
    format: Format = None,
    header: Header = None,
    delimiter: Delimiter = None,
) -> None:
    """Train a classifier or a regressor: suffice train adult.csv --target income -o adult.sfc"""
    from . import regression, sequences, training
    from .notices import UsageError

    if model not in (*training.CHOICES, *regression.MODELS):
        raise UsageError(f"--model {model!r} is not one of {', '.join((*training.CHOICES, *regression.MODELS))}")
    if task not in regression.TASKS:
        raise UsageError(f"--task {task!r} is not one of {', '.join(regression.TASKS)}")
    if loss not in ("nll", "ncll", "hinge"):
        raise UsageError(f"--loss {loss!r} is not one of nll, ncll, hinge")
    kinds = "categorical" if model == "categorical-nb" else _kinds(numeric, categorical)
    options = {"target": target, "kinds": kinds, "ignore": ignore or [], "header": header, "delimiter": delimiter}
    reader = _reader(data, format, chunk_rows=chunk_rows, **options)
    params = {"loss": loss, "random_state": seed} | training.parsed(settings or [])
    if model != "hmm" and (sequence or time):
        raise UsageError(f"--sequence and --time are for --model hmm, not for {model}")
    with reader:
        if model == "hmm":
            sequences.train(reader, output, params=params, sequence=sequence, time=time)
            return
        training.train(
            reader,
            output,
            model=model,
            params=params,
            classes=classes.split(",") if classes else None,
            memory=memory,
            max_words=max_words,
            task=task,
        )


@app.command()
def predict(
    model: Model,
    data: Data = "-",
    output: Output = "-",
    proba: Annotated[bool, typer.Option("--proba", help="Also the probability of every class.")] = False,
    as_json: AsJson = False,
    format: Format = None,
    header: Header = None,
    delimiter: Delimiter = None,
) -> None:
    """The class of every row, as CSV or lines of JSON."""
    from . import prediction, sequences
    from .errors import model_from

    trained, _ = model_from(model)
    options = prediction.reading_options(trained, with_target=False)
    with _reader(data, format or trained.reading_format, header=header, delimiter=delimiter, **options) as reader:
        room: Any = sequences if trained.format in sequences.FORMATS else prediction
        room.predict(trained, reader, output, proba=proba, as_json=as_json)


@app.command()
def evaluate(
    model: Model,
    data: Data = "-",
    target: Target = None,
    as_json: AsJson = False,
    format: Format = None,
    header: Header = None,
    delimiter: Delimiter = None,
) -> None:
    """Accuracy, log-loss, calibration error (15 bins), the losses per row, confusion; of a regressor RMSE, NLL, CRPS and coverage."""
    import json

    from . import prediction, regression, sequences
    from .errors import model_from

    trained, _ = model_from(model)
    options = prediction.reading_options(trained, with_target=True)
    if target is not None:
        options["target"] = target
    with _reader(data, format or trained.reading_format, header=header, delimiter=delimiter, **options) as reader:
        room: Any = sequences if trained.format in sequences.FORMATS else prediction
        room = regression if trained.is_regressor else room
        result = room.evaluate(trained, reader)
    text = regression.lines if trained.is_regressor else prediction.evaluation_lines
    _print([json.dumps(result, ensure_ascii=False)] if as_json else text(result))


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
        _print([json.dumps(about, ensure_ascii=False)] if as_json else inspection_hmm.lines(about))
        return
    about, found = inspection.summary(trained, head), inspection.learned(trained, top)
    text = [json.dumps(about | found, ensure_ascii=False)] if as_json else inspection.lines(about, found)
    _print(text)


@app.command()
def convert(
    data: Data,
    output: Annotated[str, typer.Argument(metavar="OUT", help="The new file; its name tells the format.")],
    to: Annotated[str | None, typer.Option(help="The new format, if the name does not tell.")] = None,
    target: Target = None,
    numeric: Names = None,
    categorical: Names = None,
    ignore: Names = None,
    format: Format = None,
    header: Header = None,
    delimiter: Delimiter = None,
) -> None:
    """Between CSV, TSV, Parquet, svmlight and text, in chunks."""
    from . import conversion

    to = conversion.format_named(output, to)
    kinds = _kinds(numeric, categorical)
    options = {"target": target, "kinds": kinds, "ignore": ignore or [], "header": header, "delimiter": delimiter}
    with _reader(data, format, **options) as reader:
        conversion.convert(reader, output, to)


@app.command()
def reproduce(
    name: Annotated[str | None, typer.Argument(metavar="[NAME]", help="An experiment of the list.")] = None,
    list_: Annotated[bool, typer.Option("--list", help="The experiments, and how long they take.")] = False,
    quick: Annotated[bool, typer.Option("--quick", help="A run of seconds.")] = False,
    json_file: Annotated[str | None, typer.Option("--json", metavar="FILE", help="The rows as JSON, too.")] = None,
    minutes: Annotated[float | None, typer.Option(help="A budget for long training.")] = None,
    seeds: Annotated[int | None, typer.Option(min=1, help="How many seeds.")] = None,
    out: Annotated[Path, typer.Option(metavar="DIR", help="Where pictures go.")] = Path("out"),
) -> None:
    """Rerun a table or figure of a paper: its numbers beside ours."""
    from ..experiments import Options
    from . import reproduction
    from .notices import UsageError, say

    if list_:
        return _print(reproduction.listed())
    if name is None:
        raise UsageError("name an experiment; `suffice reproduce --list` shows them")
    options = Options(quick=quick, seeds=seeds, minutes=minutes, folder=out, say=say)
    return _print(reproduction.reproduce(name, options, json_file))


@app.command()
def demo(
    quick: Annotated[bool, typer.Option("--quick", help="A run of seconds.")] = False,
    out: Annotated[Path, typer.Option(metavar="DIR", help="Where the picture goes.")] = Path("out"),
) -> None:
    """Our three losses against scikit-learn on data that ships with it."""
    from ..experiments import Options, Report
    from ..experiments.demo import run as run_demo
    from . import reproduction

    sys.stdout.flush()
    out.mkdir(parents=True, exist_ok=True)
    report = run_demo(Options(quick=quick, folder=out))
    if isinstance(report, Report):
        _print(reproduction.report_lines(report))
