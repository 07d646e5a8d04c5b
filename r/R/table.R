# Results side by side, for a paper.

dplm_table <- function(..., to = "markdown", path = NULL, names = NULL, stars = FALSE, intervals = FALSE, title = NULL) {
  given <- list(...)
  is_result <- function(one) inherits(one, c("dplm", "dplm_groups", "dplm_study"))
  # A list of results is as good as the results themselves.
  if (length(given) == 1 && !is_result(given[[1]]) && is.list(given[[1]])) given <- given[[1]]
  if (length(given) == 0 || !all(vapply(given, is_result, NA))) {
    refuse("request", "a table is made of what dplm(), dplm_refine() and dplm_study() give, or a list of these")
  }
  if (is.null(names) && !is.null(base::names(given)) && all(vapply(given, inherits, NA, "dplm"))) names <- base::names(given)
  to <- text_of("to", to)
  path <- if (!is.null(path)) path.expand(text_of("path", path))
  if (to == "docx" && is.null(path)) refuse("request", "a document is not text: give the path of a file, as in path = \"table.docx\"")
  asked <- list(
    to = to, path = path, names = if (!is.null(names)) as.character(names), stars = truth_of("stars", stars),
    intervals = truth_of("intervals", intervals), title = text_or_null("title", title)
  )
  text <- value(native_table(vapply(given, function(one) one$json, "", USE.NAMES = FALSE), asked))
  structure(text, class = "dplm_table")
}

print.dplm_table <- function(x, ...) {
  cat(unclass(x))
  invisible(x)
}

# How knitr shows it: the text as it is.
knit_print.dplm_table <- function(x, ...) knitr::asis_output(unclass(x))
