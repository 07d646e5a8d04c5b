
// clang-format sorts includes unless SortIncludes: Never. However, the ordering
// does matter here. So, we need to disable clang-format for safety.

// clang-format off
#include <stdint.h>
#include <Rinternals.h>
#include <R_ext/Parse.h>
// clang-format on

#include "rust/api.h"

static uintptr_t TAGGED_POINTER_MASK = (uintptr_t)1;

SEXP handle_result(SEXP res_) {
    uintptr_t res = (uintptr_t)res_;

    // An error is indicated by tag.
    if ((res & TAGGED_POINTER_MASK) == 1) {
        // Remove tag
        SEXP res_aligned = (SEXP)(res & ~TAGGED_POINTER_MASK);

        // Currently, there are two types of error cases:
        //
        //   1. Error from Rust code
        //   2. Error from R's C API, which is caught by R_UnwindProtect()
        //
        if (TYPEOF(res_aligned) == CHARSXP) {
            // In case 1, the result is an error message that can be passed to
            // Rf_errorcall() directly.
            Rf_errorcall(R_NilValue, "%s", CHAR(res_aligned));
        } else {
            // In case 2, the result is the token to restart the
            // cleanup process on R's side.
            R_ContinueUnwind(res_aligned);
        }
    }

    return (SEXP)res;
}

SEXP savvy_native_again__impl(SEXP c_arg__json, SEXP c_arg__given) {
    SEXP res = savvy_native_again__ffi(c_arg__json, c_arg__given);
    return handle_result(res);
}

SEXP savvy_native_columns__impl(SEXP c_arg__said) {
    SEXP res = savvy_native_columns__ffi(c_arg__said);
    return handle_result(res);
}

SEXP savvy_native_covariance__impl(SEXP c_arg__json) {
    SEXP res = savvy_native_covariance__ffi(c_arg__json);
    return handle_result(res);
}

SEXP savvy_native_design_rows__impl(SEXP c_arg__json, SEXP c_arg__described) {
    SEXP res = savvy_native_design_rows__ffi(c_arg__json, c_arg__described);
    return handle_result(res);
}

SEXP savvy_native_dry_run__impl(SEXP c_arg__described, SEXP c_arg__said) {
    SEXP res = savvy_native_dry_run__ffi(c_arg__described, c_arg__said);
    return handle_result(res);
}

SEXP savvy_native_facts__impl(SEXP c_arg__json) {
    SEXP res = savvy_native_facts__ffi(c_arg__json);
    return handle_result(res);
}

SEXP savvy_native_fit__impl(SEXP c_arg__described, SEXP c_arg__said, SEXP c_arg__progress) {
    SEXP res = savvy_native_fit__ffi(c_arg__described, c_arg__said, c_arg__progress);
    return handle_result(res);
}

SEXP savvy_native_groups__impl(SEXP c_arg__json) {
    SEXP res = savvy_native_groups__ffi(c_arg__json);
    return handle_result(res);
}

SEXP savvy_native_groups_facts__impl(SEXP c_arg__json) {
    SEXP res = savvy_native_groups_facts__ffi(c_arg__json);
    return handle_result(res);
}

SEXP savvy_native_groups_page__impl(SEXP c_arg__json, SEXP c_arg__title, SEXP c_arg__author, SEXP c_arg__dataset) {
    SEXP res = savvy_native_groups_page__ffi(c_arg__json, c_arg__title, c_arg__author, c_arg__dataset);
    return handle_result(res);
}

SEXP savvy_native_groups_read__impl(SEXP c_arg__path) {
    SEXP res = savvy_native_groups_read__ffi(c_arg__path);
    return handle_result(res);
}

SEXP savvy_native_groups_summary__impl(SEXP c_arg__json) {
    SEXP res = savvy_native_groups_summary__ffi(c_arg__json);
    return handle_result(res);
}

SEXP savvy_native_groups_write__impl(SEXP c_arg__json, SEXP c_arg__path) {
    SEXP res = savvy_native_groups_write__ffi(c_arg__json, c_arg__path);
    return handle_result(res);
}

SEXP savvy_native_intervals__impl(SEXP c_arg__json, SEXP c_arg__level) {
    SEXP res = savvy_native_intervals__ffi(c_arg__json, c_arg__level);
    return handle_result(res);
}

SEXP savvy_native_ledger_back_up__impl(SEXP c_arg__file, SEXP c_arg__copy) {
    SEXP res = savvy_native_ledger_back_up__ffi(c_arg__file, c_arg__copy);
    return handle_result(res);
}

SEXP savvy_native_ledger_datasets__impl(SEXP c_arg__file) {
    SEXP res = savvy_native_ledger_datasets__ffi(c_arg__file);
    return handle_result(res);
}

SEXP savvy_native_ledger_grant__impl(SEXP c_arg__file, SEXP c_arg__dataset, SEXP c_arg__rho, SEXP c_arg__note) {
    SEXP res = savvy_native_ledger_grant__ffi(c_arg__file, c_arg__dataset, c_arg__rho, c_arg__note);
    return handle_result(res);
}

SEXP savvy_native_ledger_init__impl(SEXP c_arg__file, SEXP c_arg__dataset, SEXP c_arg__asked, SEXP c_arg__note) {
    SEXP res = savvy_native_ledger_init__ffi(c_arg__file, c_arg__dataset, c_arg__asked, c_arg__note);
    return handle_result(res);
}

SEXP savvy_native_ledger_limit__impl(SEXP c_arg__file, SEXP c_arg__dataset, SEXP c_arg__analyst, SEXP c_arg__rho, SEXP c_arg__note, SEXP c_arg__others) {
    SEXP res = savvy_native_ledger_limit__ffi(c_arg__file, c_arg__dataset, c_arg__analyst, c_arg__rho, c_arg__note, c_arg__others);
    return handle_result(res);
}

SEXP savvy_native_ledger_record__impl(SEXP c_arg__file, SEXP c_arg__dataset, SEXP c_arg__asked, SEXP c_arg__what, SEXP c_arg__analyst, SEXP c_arg__note) {
    SEXP res = savvy_native_ledger_record__ffi(c_arg__file, c_arg__dataset, c_arg__asked, c_arg__what, c_arg__analyst, c_arg__note);
    return handle_result(res);
}

SEXP savvy_native_ledger_report__impl(SEXP c_arg__file, SEXP c_arg__dataset) {
    SEXP res = savvy_native_ledger_report__ffi(c_arg__file, c_arg__dataset);
    return handle_result(res);
}

SEXP savvy_native_ledger_reverse__impl(SEXP c_arg__file, SEXP c_arg__entry, SEXP c_arg__reason) {
    SEXP res = savvy_native_ledger_reverse__ffi(c_arg__file, c_arg__entry, c_arg__reason);
    return handle_result(res);
}

SEXP savvy_native_ledger_show__impl(SEXP c_arg__file, SEXP c_arg__dataset) {
    SEXP res = savvy_native_ledger_show__ffi(c_arg__file, c_arg__dataset);
    return handle_result(res);
}

SEXP savvy_native_ledger_verify__impl(SEXP c_arg__file, SEXP c_arg__against) {
    SEXP res = savvy_native_ledger_verify__ffi(c_arg__file, c_arg__against);
    return handle_result(res);
}

SEXP savvy_native_model_file__impl(SEXP c_arg__text) {
    SEXP res = savvy_native_model_file__ffi(c_arg__text);
    return handle_result(res);
}

SEXP savvy_native_over__impl(SEXP c_arg__json, SEXP c_arg__column, SEXP c_arg__names, SEXP c_arg__values, SEXP c_arg__level, SEXP c_arg__simultaneous) {
    SEXP res = savvy_native_over__ffi(c_arg__json, c_arg__column, c_arg__names, c_arg__values, c_arg__level, c_arg__simultaneous);
    return handle_result(res);
}

SEXP savvy_native_page__impl(SEXP c_arg__json, SEXP c_arg__title, SEXP c_arg__author, SEXP c_arg__dataset) {
    SEXP res = savvy_native_page__ffi(c_arg__json, c_arg__title, c_arg__author, c_arg__dataset);
    return handle_result(res);
}

SEXP savvy_native_plan__impl(SEXP c_arg__said) {
    SEXP res = savvy_native_plan__ffi(c_arg__said);
    return handle_result(res);
}

SEXP savvy_native_predict__impl(SEXP c_arg__json, SEXP c_arg__described) {
    SEXP res = savvy_native_predict__ffi(c_arg__json, c_arg__described);
    return handle_result(res);
}

SEXP savvy_native_predict_intervals__impl(SEXP c_arg__json, SEXP c_arg__described, SEXP c_arg__level) {
    SEXP res = savvy_native_predict_intervals__ffi(c_arg__json, c_arg__described, c_arg__level);
    return handle_result(res);
}

SEXP savvy_native_predictors__impl(SEXP c_arg__json) {
    SEXP res = savvy_native_predictors__ffi(c_arg__json);
    return handle_result(res);
}

SEXP savvy_native_read__impl(SEXP c_arg__path) {
    SEXP res = savvy_native_read__ffi(c_arg__path);
    return handle_result(res);
}

SEXP savvy_native_refine__impl(SEXP c_arg__json, SEXP c_arg__described, SEXP c_arg__given, SEXP c_arg__progress) {
    SEXP res = savvy_native_refine__ffi(c_arg__json, c_arg__described, c_arg__given, c_arg__progress);
    return handle_result(res);
}

SEXP savvy_native_study__impl(SEXP c_arg__specifications, SEXP c_arg__described, SEXP c_arg__given, SEXP c_arg__progress) {
    SEXP res = savvy_native_study__ffi(c_arg__specifications, c_arg__described, c_arg__given, c_arg__progress);
    return handle_result(res);
}

SEXP savvy_native_summary__impl(SEXP c_arg__json) {
    SEXP res = savvy_native_summary__ffi(c_arg__json);
    return handle_result(res);
}

SEXP savvy_native_table__impl(SEXP c_arg__documents, SEXP c_arg__asked) {
    SEXP res = savvy_native_table__ffi(c_arg__documents, c_arg__asked);
    return handle_result(res);
}

SEXP savvy_native_test__impl(SEXP c_arg__json, SEXP c_arg__hypothesis, SEXP c_arg__level) {
    SEXP res = savvy_native_test__ffi(c_arg__json, c_arg__hypothesis, c_arg__level);
    return handle_result(res);
}

SEXP savvy_native_write__impl(SEXP c_arg__json, SEXP c_arg__path) {
    SEXP res = savvy_native_write__ffi(c_arg__json, c_arg__path);
    return handle_result(res);
}


static const R_CallMethodDef CallEntries[] = {
    {"savvy_native_again__impl", (DL_FUNC) &savvy_native_again__impl, 2},
    {"savvy_native_columns__impl", (DL_FUNC) &savvy_native_columns__impl, 1},
    {"savvy_native_covariance__impl", (DL_FUNC) &savvy_native_covariance__impl, 1},
    {"savvy_native_design_rows__impl", (DL_FUNC) &savvy_native_design_rows__impl, 2},
    {"savvy_native_dry_run__impl", (DL_FUNC) &savvy_native_dry_run__impl, 2},
    {"savvy_native_facts__impl", (DL_FUNC) &savvy_native_facts__impl, 1},
    {"savvy_native_fit__impl", (DL_FUNC) &savvy_native_fit__impl, 3},
    {"savvy_native_groups__impl", (DL_FUNC) &savvy_native_groups__impl, 1},
    {"savvy_native_groups_facts__impl", (DL_FUNC) &savvy_native_groups_facts__impl, 1},
    {"savvy_native_groups_page__impl", (DL_FUNC) &savvy_native_groups_page__impl, 4},
    {"savvy_native_groups_read__impl", (DL_FUNC) &savvy_native_groups_read__impl, 1},
    {"savvy_native_groups_summary__impl", (DL_FUNC) &savvy_native_groups_summary__impl, 1},
    {"savvy_native_groups_write__impl", (DL_FUNC) &savvy_native_groups_write__impl, 2},
    {"savvy_native_intervals__impl", (DL_FUNC) &savvy_native_intervals__impl, 2},
    {"savvy_native_ledger_back_up__impl", (DL_FUNC) &savvy_native_ledger_back_up__impl, 2},
    {"savvy_native_ledger_datasets__impl", (DL_FUNC) &savvy_native_ledger_datasets__impl, 1},
    {"savvy_native_ledger_grant__impl", (DL_FUNC) &savvy_native_ledger_grant__impl, 4},
    {"savvy_native_ledger_init__impl", (DL_FUNC) &savvy_native_ledger_init__impl, 4},
    {"savvy_native_ledger_limit__impl", (DL_FUNC) &savvy_native_ledger_limit__impl, 6},
    {"savvy_native_ledger_record__impl", (DL_FUNC) &savvy_native_ledger_record__impl, 6},
    {"savvy_native_ledger_report__impl", (DL_FUNC) &savvy_native_ledger_report__impl, 2},
    {"savvy_native_ledger_reverse__impl", (DL_FUNC) &savvy_native_ledger_reverse__impl, 3},
    {"savvy_native_ledger_show__impl", (DL_FUNC) &savvy_native_ledger_show__impl, 2},
    {"savvy_native_ledger_verify__impl", (DL_FUNC) &savvy_native_ledger_verify__impl, 2},
    {"savvy_native_model_file__impl", (DL_FUNC) &savvy_native_model_file__impl, 1},
    {"savvy_native_over__impl", (DL_FUNC) &savvy_native_over__impl, 6},
    {"savvy_native_page__impl", (DL_FUNC) &savvy_native_page__impl, 4},
    {"savvy_native_plan__impl", (DL_FUNC) &savvy_native_plan__impl, 1},
    {"savvy_native_predict__impl", (DL_FUNC) &savvy_native_predict__impl, 2},
    {"savvy_native_predict_intervals__impl", (DL_FUNC) &savvy_native_predict_intervals__impl, 3},
    {"savvy_native_predictors__impl", (DL_FUNC) &savvy_native_predictors__impl, 1},
    {"savvy_native_read__impl", (DL_FUNC) &savvy_native_read__impl, 1},
    {"savvy_native_refine__impl", (DL_FUNC) &savvy_native_refine__impl, 4},
    {"savvy_native_study__impl", (DL_FUNC) &savvy_native_study__impl, 4},
    {"savvy_native_summary__impl", (DL_FUNC) &savvy_native_summary__impl, 1},
    {"savvy_native_table__impl", (DL_FUNC) &savvy_native_table__impl, 2},
    {"savvy_native_test__impl", (DL_FUNC) &savvy_native_test__impl, 3},
    {"savvy_native_write__impl", (DL_FUNC) &savvy_native_write__impl, 2},
    {NULL, NULL, 0}
};

void R_init_dplm(DllInfo *dll) {
    R_registerRoutines(dll, NULL, CallEntries, NULL, NULL);
    R_useDynamicSymbols(dll, FALSE);

    // Functions for initialization, if any.

}
