# More than one fit of a table: several specifications under one budget, and a second release pooled
# with the first.

dplm_study <- function(specifications, data,
                       # <options dplm_study>
                       rho = NULL, epsilon = NULL, delta = NULL, focus = NULL, family = NULL,
                       weights = NULL, neighbours = NULL, person = NULL, rows_per_person = NULL,
                       target = NULL, level = NULL, csv = NULL, strict = FALSE, seed = NULL,
                       threads = NULL, memory = NULL, device = "cpu", ledger = NULL, dataset = NULL,
                       other_table = FALSE,
                       # </options>
                       shares = NULL, interest = NULL, simultaneous = FALSE, progress = interactive()) {
  call <- without_data(match.call())
  own <- c("specifications", "data", "shares", "interest", "simultaneous", "progress")
  said <- mget(setdiff(names(formals(dplm_study)), own), environment())
  # What is not said here, the study file may say.
  said <- with_account(Filter(Negate(is.null), said), ledger)
  table <- described(data, NULL, csv)
  bar <- progress_of(progress)
  on.exit(bar$close())
  asked <- specified(specifications, shares, interest, truth_of("simultaneous", simultaneous))
  found <- value(native_study(asked, table, said, bar$tell))
  telling_what_was_spent(found$spent, {
    fits <- setNames(lapply(found$fits, new_fit), found$names)
    first <- fits[[1]]
    study <- list(call = call, fits = fits, guarantee = first$guarantee, promise = first$promise, text = found$summary, json = found$json)
    study <- structure(study, class = "dplm_study")
    warn_of(study, found$warnings, found$about_privacy)
    study
  })
}

# The specifications as the native half takes them: a study file, or formulas with names.
specified <- function(specifications, shares, interest, simultaneous) {
  if (is_text(specifications) && is.null(names(specifications))) {
    if (!is.null(shares) || !is.null(interest) || simultaneous) {
      refuse("request", "a study file says shares and interest itself: leave them out, or give the formulas with names")
    }
    return(list(toml = model_file(specifications)))
  }
  formulas <- vapply(specifications, function(one) if (is_text(one)) enc2utf8(one) else NA_character_, "")
  if (is.null(names(formulas)) || anyNA(formulas)) {
    refuse("request", "specifications must be texts with names, such as c(main = \"y[0..9] ~ x[0..5]\"), or the path of a study file")
  }
  share <- setNames(rep("", length(formulas)), names(formulas))
  strange <- setdiff(names(shares), names(formulas))
  if (length(strange) > 0) refuse("request", sprintf("there is no specification '%s' to have a share", strange[1]))
  for (name in names(shares)) share[[name]] <- format(number_of("a share", shares[[name]]), digits = 15)
  list(
    names = names(formulas), formulas = unname(formulas), shares = unname(share), interest = text_or_null("interest", interest),
    simultaneous = simultaneous
  )
}

# What is said of who pays.
with_account <- function(said, ledger) {
  by <- if (inherits(ledger, "dplm_ledger")) ledger else list(analyst = Sys.getenv("DPLM_ANALYST"))
  said$ledger <- ledger_file(ledger)
  c(said, by[intersect(c("analyst", "stated_purpose", "note"), names(by))])
}

print.dplm_study <- function(x, ...) {
  cat(x$text)
  invisible(x)
}

summary.dplm_study <- function(object, ...) object

coef.dplm_study <- function(object, ...) lapply(object$fits, coef)

confint.dplm_study <- function(object, parm, level = object$fits[[1]]$level, ...) lapply(object$fits, confint, level = level)

tidy.dplm_study <- function(x, ...) {
  one <- function(name) cbind(data.frame(specification = name), tidy.dplm(x$fits[[name]], ...))
  do.call(rbind, lapply(names(x$fits), one))
}

dplm_refine <- function(fit, data,
                        # <options dplm_refine>
                        rho = NULL, epsilon = NULL, delta = NULL, csv = NULL, strict = FALSE, seed = NULL,
                        threads = NULL, memory = NULL, device = "cpu", ledger = NULL, dataset = NULL,
                        other_table = FALSE,
                        # </options>
                        progress = interactive()) {
  of_fit(fit)
  call <- without_data(match.call())
  said <- mget(setdiff(names(formals(dplm_refine)), c("fit", "data", "progress")), environment())
  said <- with_account(said, ledger)
  again <- value(native_again(fit$json, said))
  table <- described(data, again$columns, if (is.null(csv) && nzchar(again$csv)) again$csv else csv)
  bar <- progress_of(progress)
  on.exit(bar$close())
  found <- value(native_refine(fit$json, table, said, bar$tell))
  telling_what_was_spent(found$spent, {
    made <- new_fit(found$json, call)
    warn_of(made, found$warnings, found$about_privacy)
    made
  })
}
