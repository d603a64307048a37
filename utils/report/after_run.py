"""The report as the last step of a run: it may fail, and nothing else with it."""

from __future__ import annotations

from utils.images import image_root
from utils.plan import Plan
from utils.report.build import build_report
from utils.report.pictures import CACHE_FOLDER
from utils.runs.finished import scored_files


def write_reports(plan: Plan, model: str) -> None:
    """Builds the report of each folder that a run has scored in for one model, and says where.

    Scores and all other files are there already, so what goes wrong here is one line of warning.
    """
    options = plan.options
    if options.mode == "infer" or not options.report:
        return
    for run in [each for each in plan.written if each.model == model]:
        folder, scored = run.path, plan.scored.get(run, [])
        if not scored:  # a page from before is none of this run's
            continue
        try:
            shown = scored_files(folder)
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
            run.link_newest([page.parent])
            earlier = [name for name in plan.written[run] if name in shown and name not in scored]
            if earlier:
                print(f"It shows an earlier scoring of {', '.join(earlier)}, not scored now")
            written = scored_files(folder, newest=True)
            kept = [name for name in shown if name in scored and shown[name] != written[name]]
            if kept:
                print(f"It shows the full results of {', '.join(kept)}, which this run left alone")
