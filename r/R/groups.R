# The model fitted in each of several groups.

new_groups <- function(json, call = NULL) {
  facts <- value(native_groups_facts(json))
  found <- value(native_groups(json))
  levels <- vapply(found, `[[`, "", "level")
  is_fitted <- vapply(found, function(one) is.null(one$why), NA)
  fits <- lapply(found[is_fitted], function(one) new_fit(one$json, call))
  groups <- list(
    call = call, by = facts$by$column, groups = setNames(fits, levels[is_fitted]),
    not_fitted = setNames(vapply(found[!is_fitted], `[[`, "", "why"), levels[!is_fitted]), sizes = sizes_of(facts, levels),
    equality = equality_of(facts), warnings = as.character(unlist(facts$warnings)),
    guarantee = facts$guarantee[setdiff(names(facts$guarantee), "releases")], releases = releases_of(facts), json = json
  )
  structure(c(groups, facts[intersect(c("formula", "units", "level", "private", "promise", "date", "ledger", "pretend"), names(facts))]), class = "dplm_groups")
}

# How many rows, or persons, each group has, and the standard deviation of the noise in that: 0
# where it is public.
sizes_of <- function(facts, levels) {
  noise_sd <- numbers_of(facts$groups, "size_sd")
  count <- vapply(facts$groups, function(one) one$units$count, 0)
  data.frame(count = count, noise_sd = ifelse(is.na(noise_sd), 0, noise_sd), row.names = levels)
}

equality_of <- function(facts) {
  tests <- facts$equality
  names <- vapply(tests, function(one) if (length(one$names) == 1) one$names else "all together", "")
  data.frame(
    statistic = numbers_of(tests, "statistic"), df = numbers_of(tests, "df"), p.value = numbers_of(tests, "p_value"),
    groups = numbers_of(tests, "groups"), row.names = names
  )
}

print.dplm_groups <- function(x, digits = max(3L, getOption("digits") - 3L), ...) {
  marked(x$pretend, {
    cat("Private linear regression by ", x$by, "\n\n  ", x$formula, "\n\nCoefficients:\n", sep = "")
    print(coef(x), digits = digits)
    for (level in names(x$not_fitted)) cat("\n", level, ": ", x$not_fitted[[level]], "\n", sep = "")
    cat("\n", spent(x), "\n", sep = "")
    cat(void(x$promise))
  })
  invisible(x)
}

summary.dplm_groups <- function(object, ...) {
  text <- value(native_groups_summary(object$json))
  structure(c(list(text = text), object[c("call", "formula", "sizes", "equality")]), class = "summary.dplm_groups")
}

print.summary.dplm_groups <- function(x, ...) {
  cat(x$text)
  invisible(x)
}

coef.dplm_groups <- function(object, ...) do.call(rbind, lapply(object$groups, coef))

formula.dplm_groups <- function(x, ...) x$formula

nobs.dplm_groups <- function(object, ...) object$units$count
