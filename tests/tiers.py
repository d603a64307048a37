"""The two tiers of the tests: `make test` runs the fast one, `make test-all` all.

No test says itself where it belongs. Marked `whole`, and so left out of the fast tier, are

- rooms and files that need what only the whole installs or starts: torch, JupyterLab, torchrun;
- single tests that take long, each with its reason;
- in files whose tests run the program or a browser, three tests of four: the first of each four
  stays. What a file shows is shown by a quarter of its cases, and by all of them in the whole.

Tests that loop over seeds or mutants ask the fixture `whole` how many to take.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

import pytest

ROOMS = {"local": "checkpoints"}
FILES = {
    "test_data_parallel.py": "torchrun",
    "test_documented_functions.py": "checkpoints",
    "test_parity_with_a_real_server.py": "a real server",
    "test_sample_data.py": "rendering the sample data",
    "test_jupyterlab_confinement.py": "JupyterLab",
    "test_jupyterlab_runs.py": "JupyterLab",
    "test_jupyterlab_tasks.py": "JupyterLab",
    "test_memory_in_office.py": "slow",
}
FUNCTIONS = {
    "test_a_checkpoint_goes_on_without_being_loaded": "checkpoints",
    "test_a_killed_run_goes_on_with_the_episodes_that_are_missing": "slow",
    "test_a_process_that_ends_leaves_no_browser_behind": "slow",
    "test_a_thousand_runs_give_hardly_a_false_alarm": "simulations",
    "test_a_thousand_runs_whose_letters_are_read_as_they_are_meant_give_no_false_alarm": "simulations",
    "test_episodes_in_the_office_stand_until_what_decides_them_is_changed": "slow",
    "test_it_passes_the_checks_of_this_project": "lint",
    "test_real_replies_of_mai_ui_are_scored_as_its_authors_score_them": "slow",
    "test_recorded_answers_come_to_what_the_official_scorers_made_of_them": "slow",
    "test_the_list_that_is_open_shows_what_comes_in_and_a_form_waits_for_it": "slow",
    "test_who_knows_the_answer_is_right_and_who_is_done_at_once_is_not": "slow",
    "test_two_thousand_runs_are_listed_and_searched": "slow",
    "test_what_others_do_is_the_same_in_two_worlds_under_load_and_after_a_new_start": "slow",
}
EVERY_FOURTH = [
    "test_acting_in_browser.py",
    "test_all_runs.py",
    "test_api_outcomes.py",
    "test_audit_coordinates.py",
    "test_bad_tables.py",
    "test_choosing_in_browser.py",
    "test_circular.py",
    "test_comparison_page.py",
    "test_data_files.py",
    "test_download.py",
    "test_early_warnings.py",
    "test_environment_arguments.py",
    "test_fault_storm.py",
    "test_film_in_browser.py",
    "test_follow_up.py",
    "test_graded_episodes.py",
    "test_judge.py",
    "test_list_in_browser.py",
    "test_live_runs.py",
    "test_miniwob.py",
    "test_office_data.py",
    "test_office_events.py",
    "test_office_oracles.py",
    "test_office_pages.py",
    "test_office_suite.py",
    "test_office_world.py",
    "test_overview_in_browser.py",
    "test_own_benchmark.py",
    "test_page_failures.py",
    "test_page_world.py",
    "test_recipe_runs.py",
    "test_repeated_episodes.py",
    "test_repeats_in_runs.py",
    "test_report.py",
    "test_report_in_browser.py",
    "test_reuse.py",
    "test_run_files.py",
    "test_run_log.py",
    "test_sample_in_browser.py",
    "test_secrets_in_runs.py",
    "test_soundness_in_browser.py",
    "test_statistics_simulation.py",
    "test_stopping.py",
    "test_stored_episodes.py",
    "test_tables_in_browser.py",
    "test_tiers.py",
    "test_tiers_in_browser.py",
    "test_user_functions_in_runs.py",
    "test_vllm_server.py",
    "test_vllm_wrapper.py",
    "test_why.py",
]
FEWER = {
    "test_office_oracles.py": 9,
    "test_page_world.py": 8,
    "test_statistics_simulation.py": 14,
}
"""Files of which one in so many stays."""
GESTURES = "test_an_action_is_what_mouse_and_keyboard_would_do"
"""Each of its cases is a gesture of its own, and stays."""


def mark_whole(items: Iterable[pytest.Item]) -> None:
    """Mark what the fast tier leaves out, each test with the reason."""
    counts: Counter[str] = Counter()
    for item in items:
        file, name = item.path.name, getattr(item, "originalname", item.name)
        reason = ROOMS.get(item.path.parent.name) or FILES.get(file) or FUNCTIONS.get(name)
        step = 1 if name == GESTURES else FEWER.get(file, 4 if file in EVERY_FOURTH else 1)
        if counts[file] % step:
            reason = reason or "further cases"
        counts[file] += 1
        if reason:
            item.add_marker(pytest.mark.whole(reason=reason))


def left_out(items: Iterable[pytest.Item]) -> Counter[str]:
    """How many tests were left to the whole, by reason."""
    markers = [item.get_closest_marker("whole") for item in items]
    return Counter(marker.kwargs["reason"] for marker in markers if marker is not None)
