"""The two tiers of the tests: `make test` runs the fast one, `make test-all` all.

No test says itself where it belongs. Marked `whole`, and so left out of the fast tier, are

- rooms, files and single tests that need what only the whole installs or starts, or take long;
- of a function that is tested under several seeds, all but the first;
- of simulations on a grid, all but two opposite corners;
- of a function whose cases run the program or open a browser, as their fixtures show, all cases
  but the first, or the first few: what it shows is shown by one case, and by all in the whole.

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
    "test_desktop_confinement.py": "the desktop",
    "test_desktop_runs.py": "the desktop",
    "test_desktop_tasks.py": "the desktop",
    "test_desktop_world.py": "the desktop",
    "test_jupyterlab_confinement.py": "JupyterLab",
    "test_jupyterlab_runs.py": "JupyterLab",
    "test_jupyterlab_tasks.py": "JupyterLab",
    "test_memory_in_office.py": "slow",
    "test_notebook.py": "slow",
    "test_site.py": "the site",
}
FUNCTIONS = {
    "test_a_checkpoint_goes_on_without_being_loaded": "checkpoints",
    "test_a_client_that_is_killed_ends_everything_and_the_same_command_goes_on": "torchrun",
    "test_a_dripping_reply_ends_at_timeout_s": "slow",
    "test_a_figure_that_an_audit_doubts_is_handed_on_only_with_its_doubt": "slow",
    "test_a_file_of_addresses_that_becomes_empty_stops_the_run_with_what_it_says": "slow",
    "test_a_file_that_was_edited_by_hand_is_named_and_written_anew": "installing",
    "test_a_folder_for_the_look_gets_the_report_and_is_replaced_by_the_next_look": "slow",
    "test_a_full_disk_stops_the_run_and_the_same_command_goes_on": "slow",
    "test_a_kill_before_a_derived_file_gets_its_name_is_made_good": "slow",
    "test_a_killed_browser_costs_one_try_and_twice_fails_the_world": "slow",
    "test_a_killed_run_goes_on_with_the_episodes_that_are_missing": "slow",
    "test_a_killed_run_takes_its_server_and_all_of_its_family_along": "slow",
    "test_a_link_brings_the_filters_along_and_they_count_what_the_others_leave": "slow",
    "test_a_long_chain_of_formulas_is_worked_out_at_once": "slow",
    "test_a_long_text_of_short_lines_is_not_typed_key_by_key": "slow",
    "test_a_lost_server_stops_the_run_and_the_same_command_goes_on": "slow",
    "test_a_mean_of_splits_is_compared_as_one": "slow",
    "test_a_page_reaches_nothing_but_its_own_server": "slow",
    "test_a_page_that_an_action_kills_says_so_and_the_browser_is_made_anew": "slow",
    "test_a_page_that_does_not_open_is_given_up_after_its_own_time": "slow",
    "test_a_page_that_hangs_costs_the_try_and_nothing_more": "slow",
    "test_a_page_that_is_loaded_again_or_twice_goes_on": "slow",
    "test_a_page_that_is_never_quiet_is_waited_for_once_for_each_text": "slow",
    "test_a_process_that_ends_leaves_no_browser_behind": "slow",
    "test_a_recipe_sets_the_limits_of_the_server_that_the_run_starts": "slow",
    "test_a_replica_that_dies_again_and_again_is_left_out": "slow",
    "test_a_replica_that_dies_is_started_again_and_waited_for": "slow",
    "test_a_result_file_comes_back_with_the_same_verdicts": "slow",
    "test_a_run_that_is_stopped_ends_as_stopped": "slow",
    "test_a_scoring_that_is_killed_anywhere_leaves_no_mix_that_is_read": "slow",
    "test_a_second_process_is_refused_until_the_first_is_gone": "slow",
    "test_a_server_that_comes_when_none_is_there_serves_what_stored_answers_are_from_or_stays_out": "slow",
    "test_a_server_that_is_too_busy_is_asked_again": "slow",
    "test_a_server_that_never_answers_is_given_up_and_ended": "slow",
    "test_a_sheet_is_written_with_the_keyboard_alone": "slow",
    "test_a_stopped_run_leaves_no_process_and_plays_on_with_what_is_missing": "slow",
    "test_a_task_is_solved_on_the_desktop_and_nothing_done_is_no_success": "the desktop",
    "test_a_task_that_is_skipped_is_played_again_from_its_beginning": "slow",
    "test_a_text_of_many_lines_may_take_longer_than_one_step": "slow",
    "test_a_text_that_is_pasted_again_and_again_stops_growing": "slow",
    "test_a_thousand_runs_give_hardly_a_false_alarm": "simulations",
    "test_a_thousand_runs_whose_letters_are_read_as_they_are_meant_give_no_false_alarm": "simulations",
    "test_all_models_of_the_newest_command_are_shown": "slow",
    "test_axe_finds_nothing": "accessibility",
    "test_axe_finds_nothing_on_a_recorded_step": "accessibility",
    "test_axe_finds_nothing_on_pages_of_the_tables": "accessibility",
    "test_axe_finds_nothing_while_acting": "accessibility",
    "test_axe_finds_nothing_with_everything_opened": "accessibility",
    "test_basic_and_functional_rows_of_a_run_are_paired_by_their_element": "slow",
    "test_both_levels_are_played_task_by_task": "slow",
    "test_both_levels_one_after_the_other_with_scores_times_and_eval": "slow",
    "test_cells_are_copied_pasted_emptied_and_brought_back": "slow",
    "test_each_machine_of_an_srun_starts_servers_and_rank_0_asks_all_of_them": "torchrun",
    "test_each_machine_of_torchrun_starts_servers_and_rank_0_asks_all_of_them": "torchrun",
    "test_episodes_are_played_once_more_and_nothing_is_lost": "slow",
    "test_episodes_in_the_office_stand_until_what_decides_them_is_changed": "slow",
    "test_every_count_of_a_comparison_leads_to_exactly_its_samples": "slow",
    "test_every_count_of_a_table_leads_to_exactly_its_samples": "slow",
    "test_every_step_is_judged_through_the_whole_program_as_the_official_code_does": "slow",
    "test_fifty_models_fit_one_screen": "slow",
    "test_it_passes_the_checks_of_this_project": "lint",
    "test_logged_replies_come_to_the_points_and_totals_of_their_authors": "slow",
    "test_messages_and_tasks_that_are_typed_one_after_the_other_all_arrive": "slow",
    "test_no_reply_of_twenty_thousand_signs_takes_long_to_read": "slow",
    "test_of_a_comparison": "accessibility",
    "test_of_a_report": "accessibility",
    "test_of_eight_servers_of_which_most_fail_each_sample_has_one_answer": "slow",
    "test_of_processes_that_start_together_one_gets_in": "slow",
    "test_of_seven_thousand_samples_few_are_in_the_page_and_in_order": "slow",
    "test_on_a_phone_a_swipe_scrolls_the_list_which_keeps_its_place_meanwhile": "slow",
    "test_one_answer_file_has_the_official_totals_in_the_score_files_of_a_run": "slow",
    "test_original_and_refined_instructions_are_paired_by_their_element": "slow",
    "test_random_clicks_earn_what_is_published": "simulations",
    "test_real_replies_answer_with_the_published_kinds_of_actions": "slow",
    "test_real_replies_of_mai_ui_are_scored_as_its_authors_score_them": "slow",
    "test_recorded_answers_come_to_what_the_official_scorers_made_of_them": "slow",
    "test_replicas_that_cannot_be_started_end_the_run_with_the_end_of_a_log": "slow",
    "test_rows_of_gui_r1_are_found_by_instruction_history_and_action": "slow",
    "test_screens_change_with_what_is_done_and_two_runs_see_the_same": "slow",
    "test_servers_end_with_the_task_that_has_started_them_and_the_others_go_on": "slow",
    "test_seven_thousand_samples_are_compared_and_shown_a_few_at_a_time": "slow",
    "test_tasks_of_an_srun_are_runs_by_themselves_where_no_model_has_replicas": "slow",
    "test_the_address_says_where_one_is_and_leads_elsewhere": "slow",
    "test_the_claude_example_in_three_turns_with_an_overloaded_server": "slow",
    "test_the_config_of_the_project_works_with_the_sample_data": "slow",
    "test_the_delete_key_asks_and_says_which_button_enter_presses": "slow",
    "test_the_first_episodes_are_those_of_a_run_without_repeats": "slow",
    "test_the_interval_holds_the_true_kappa_in_95_of_100_draws": "simulations",
    "test_the_list_that_is_open_shows_what_comes_in_and_a_form_waits_for_it": "slow",
    "test_the_place_where_a_text_goes_can_be_seen": "slow",
    "test_the_samples_themselves_are_right": "slow",
    "test_the_seeds_0_to_3_are_a_latin_square": "slow",
    "test_the_tier_of_a_task_follows_from_its_shortest_solution_and_its_applications": "slow",
    "test_through_a_storm_everything_is_answered_once": "slow",
    "test_two_experiments_that_start_together_have_a_folder_each": "slow",
    "test_two_people_are_two_models": "slow",
    "test_two_thousand_runs_are_listed_and_searched": "slow",
    "test_what_a_link_asks_for_is_seen_where_nothing_could_be_chosen_too": "slow",
    "test_what_is_skipped_counts_as_failed_and_is_asked_again": "slow",
    "test_what_others_do_is_the_same_in_two_worlds_under_load_and_after_a_new_start": "slow",
    "test_where_all_is_answered_no_machine_starts_a_server": "slow",
    "test_who_knows_the_answer_is_right_and_who_is_done_at_once_is_not": "slow",
    "test_without_a_place_for_the_file_the_address_is_printed_all_the_same": "slow",
}
GRIDS = {"test_statistics_simulation.py"}
"""Files of simulations on a grid of parameters, of which two opposite corners stay."""
RUNNING = {
    "bench",
    "browser",
    "chromium",
    "data_root",
    "folder",
    "goes_on",
    "home",
    "hub",
    "lab",
    "run_of",
    "server",
    "stage",
    "staged",
    "world",
}
"""Fixtures of tests that run the program or open a browser."""
ERRORS = {
    "test_bad_input.py",
    "test_before_the_run.py",
    "test_odd_answers.py",
    "test_way_to_the_server.py",
}
"""Files each of whose cases is another error that reaches the user: all cases stay."""
EVERY_CASE = 1000
CASES = {
    "test_a_blank_text_of_another_table_is_left_out_with_the_reason": 1,
    "test_a_lock_is_refused_to_others_until_it_is_released_or_its_process_has_died": 1,
    "test_a_missing_image_is_named": 1,
    "test_a_platform_is_known_in_both_spellings": 1,
    "test_a_response_without_text_and_call_is_no_answer": 1,
    "test_a_row_without_a_box_is_named": 1,
    "test_a_row_without_an_instruction_is_named": 1,
    "test_a_solution_solves_its_task_with_mouse_and_keyboard": 3,
    "test_a_tutorial_does_what_it_says": 1,
    "test_an_action_is_what_mouse_and_keyboard_would_do": EVERY_CASE,  # each another gesture
    "test_an_agent_sends_three_turns_as_its_authors_code_does": 1,
    "test_an_answer_of_gemini_without_text_and_call_is_no_answer": 1,
    "test_an_unknown_category_is_named_with_the_known_ones": 1,
    "test_any_model_name_becomes_a_folder_inside_the_work_dir": 3,
    "test_every_declared_grouping_chooses_rows": 2,
    "test_files_of_other_tables_are_read_with_a_byte_order_mark": 1,
    "test_icons_and_texts_are_known_in_both_spellings": 1,
    "test_own_replies_as_history_a_killed_run_goes_on_at_its_step": 1,
    "test_some_steps_are_judged_through_the_whole_program_as_the_official_code_does": 6,
    "test_the_head_of_a_report_counts_what_the_server_got": 2,
    "test_what_was_exported_has_the_same_verdicts_when_it_is_imported": 3,
}
"""How many of its first cases a function keeps, where that is not what the rules say."""


def mark_whole(items: Iterable[pytest.Item]) -> None:
    """Mark what the fast tier leaves out, each test with the reason."""
    functions: dict[tuple[object, str], list[pytest.Item]] = {}
    for item in items:
        name = getattr(item, "originalname", item.name)
        functions.setdefault((item.path, name), []).append(item)
    for (_, name), cases in functions.items():
        for number, item in enumerate(cases):
            reason = _reason(item, name) or _reason_of_case(item, name, number, len(cases))
            if reason:
                item.add_marker(pytest.mark.whole(reason=reason))


def _reason(item: pytest.Item, name: str) -> str | None:
    """Why all cases of a function are left to the whole; None: they are not."""
    return ROOMS.get(item.path.parent.name) or FILES.get(item.path.name) or FUNCTIONS.get(name)


def _reason_of_case(item: pytest.Item, name: str, number: int, count: int) -> str | None:
    """Why one of so many cases of a function is left to the whole."""
    if item.path.name in GRIDS:
        return None if number in (0, count - 1) else "simulations"
    call = getattr(item, "callspec", None)
    if call is not None and call.indices.get("seed"):
        return "further seeds"
    is_run = not RUNNING.isdisjoint(getattr(item, "fixturenames", ()))
    usual = 1 if is_run and item.path.name not in ERRORS else EVERY_CASE
    return "further cases" if number >= CASES.get(name, usual) else None


def left_out(items: Iterable[pytest.Item]) -> Counter[str]:
    """How many tests were left to the whole, by reason."""
    markers = [item.get_closest_marker("whole") for item in items]
    return Counter(marker.kwargs["reason"] for marker in markers if marker is not None)
