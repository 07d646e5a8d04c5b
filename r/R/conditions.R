# Errors and warnings. The sentences are those of the command line, and never hold a cell's value.

# What a function of the native half gives, or an error of why it gives nothing.
value <- function(answer) {
  if (inherits(answer, "dplm_failure")) refuse(answer$kind, answer$sentence)
  answer
}

# Nothing of this package's own code is shown with the sentence, so there is no call.
refuse <- function(kind, sentence) {
  class <- if (kind == "interrupt") {
    c("dplm_interrupt", "interrupt", "condition")
  } else {
    c(paste0("dplm_", kind, "_error"), "dplm_error", "error", "condition")
  }
  stop(structure(list(message = sentence, call = NULL), class = class))
}

# A fit that is interrupted before it is handed over is lost, and what it spent is not.
telling_what_was_spent <- function(spent, fit) {
  lost <- function(e) refuse("interrupt", paste0("interrupted before the fit was finished; ", spent))
  tryCatch(fit, interrupt = lost)
}

# Warns of what the command line warns of. The condition holds the fit, which is paid for; where
# warnings are made errors the fit would be lost with them, so they are messages there.
warn_of <- function(fit, sentences, about_privacy) {
  class <- c("dplm_fit_warning", "dplm_privacy_warning")[1 + about_privacy]
  for (j in seq_along(sentences)) {
    if (getOption("warn") >= 2) {
      message("Warning: ", sentences[j])
    } else {
      parts <- list(message = sentences[j], call = NULL, fit = fit)
      warning(structure(parts, class = c(class[j], "dplm_warning", "warning", "condition")))
    }
  }
}

is_text <- function(x) is.character(x) && length(x) == 1 && !is.na(x)

# What the native half takes as it is, checked so that a mistake is a `dplm_request_error` like any
# other.
text_of <- function(name, x) if (is_text(x)) enc2utf8(x) else refuse("request", sprintf("%s must be a text", name))

truth_of <- function(name, x) if (isTRUE(x) || isFALSE(x)) x else refuse("request", sprintf("%s must be TRUE or FALSE", name))

text_or_null <- function(name, x) if (!is.null(x)) text_of(name, x)

number_of <- function(name, x) {
  if (is.numeric(x) && length(x) == 1 && !is.na(x)) as.double(x) else refuse("request", sprintf("%s must be a number", name))
}

# What `ask` gives. A refusal does not quote one of several texts: they may be a column of a table
# by mistake.
unquoted <- function(name, texts, ask) {
  found <- tryCatch(ask(), dplm_request_error = function(refusal) refusal)
  if (!inherits(found, "dplm_request_error")) return(found)
  quoted <- regmatches(found$message, gregexpr("(?<=')[^']+(?=')", found$message, perl = TRUE))[[1]]
  is_of_text <- vapply(quoted, function(part) any(grepl(part, texts, fixed = TRUE)), NA)
  if (length(texts) > 1 && any(is_of_text)) {
    refuse("request", sprintf("one of the %d texts of %s is not understood: give them one by one to see which, and why", length(texts), name))
  }
  stop(found)
}
