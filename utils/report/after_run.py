"""The report as the last step of a run: it may fail, and nothing else with it."""

from __future__ import annotations

from utils.data_root import image_root
from utils.finished_runs import scored_files
from utils.plan import Plan
from utils.report.build import build_report
from utils.report.pictures import CACHE_FOLDER


def write_reports(plan: Plan, model: str) -> None:
    """Builds the report of each folder that a run has scored in for one model, and says where.

    Scores and all other files are there already, so what goes wrong here is one line of warning.
    """
    options = plan.options
    if options.mode == "infer" or not options.report:
        return
    for folder in [each.path for each in plan.written if each.model == model]:
        try:
            shown = scored_files(folder)
            if not shown:  # nothing could be scored
                continue
            page = build_report(
                folder,
                image_root=image_root(),
                cache=options.work_dir / CACHE_FOLDER,
                embed_originals=options.embed_originals,
            )
        except Exception as error:  # noqa: BLE001  whatever it is, it may not cost the exit code
            why = f"{type(error).__name__}: {error}".splitlines()[0]
            print(f"warning: {folder}: no report ({why}); scores and all other files are complete")
        else:
            print(f"Report: {page}")
            written = scored_files(folder, newest=True)
            kept = [name for name in shown if shown[name] != written[name]]
            if kept:
                print(f"It shows the full results of {', '.join(kept)}, which this run left alone")
