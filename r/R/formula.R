# Models: a text with the public facts in it, a formula of R with the facts beside it, or a model
# file.

# What is said of the model: its formula, and for a model file that columns without bounds are
# standardised.
model <- function(formula, public = NULL, takes_bare = FALSE) {
  if (inherits(formula, "formula")) {
    if (!takes_bare) check_facts(formula, public)
    return(list(formula = written(formula, public)))
  }
  if (!is.null(public)) {
    refuse("request", "public goes with a formula of R, such as y ~ x: in a text write the facts behind each name, as in x[0..10]")
  }
  if (!is_text(formula)) {
    refuse("request", "formula must be a text such as 'pay[0..200000] ~ age[18..90]', or a formula of R with its facts in public")
  }
  is_file <- grepl("\\.toml$", formula) && !grepl("~", formula, fixed = TRUE)
  if (is_file) list(formula = value(native_model_file(model_file(formula))), standardised = TRUE) else list(formula = enc2utf8(formula))
}

model_file <- function(path) {
  lines <- tryCatch(suppressWarnings(readLines(path, encoding = "UTF-8")), error = function(e) NULL)
  if (is.null(lines)) {
    refuse("request", sprintf("the model file %s could not be read: check the path, and that it is text", path))
  }
  paste(lines, collapse = "\n")
}

# A formula of R as text, each column with what is publicly known of it. What is not known the
# library asks for: nothing is taken from data.
written <- function(formula, public) {
  unknown <- setdiff(names(public), all.vars(formula))
  if (!is.null(public) && (!is.list(public) || is.null(names(public)))) {
    refuse("request", "public must be a list with the names of columns, such as list(age = c(18, 90), region = c(\"north\", \"south\"))")
  }
  if (length(unknown) > 0) refuse("request", sprintf("public has facts of '%s', which is no column of the formula", unknown[1]))
  facts <- vapply(names(public), function(name) fact(name, public[[name]]), "")
  expression <- with_facts(formula, facts)
  attributes(expression) <- NULL
  paste(deparse(expression, width.cutoff = 500, backtick = FALSE), collapse = " ")
}

# A formula of R cannot hold bounds: what a bare column lacks goes into `public`.
check_facts <- function(formula, public) {
  bare <- setdiff(all.vars(formula), c(names(public), "."))
  if (length(bare) == 0 || (!is.null(public) && !is.list(public))) return(invisible())
  refuse("request", sprintf(
    "say what is publicly known of '%s' beside the formula: public = list(%s = c(0, 100)), with its bounds, or with its levels, as in c(\"no\", \"yes\")",
    bare[1], quoted(bare[1])
  ))
}

with_facts <- function(expression, facts) {
  if (is.name(expression)) {
    name <- as.character(expression)
    return(as.name(paste0(quoted(name), if (name %in% names(facts)) facts[[name]])))
  }
  if (is.call(expression)) expression[-1] <- lapply(as.list(expression)[-1], with_facts, facts)
  expression
}

quoted <- function(name) if (grepl("^[[:alpha:].][[:alnum:]._]*$", name)) name else paste0("`", name, "`")

# Bounds as `[low..high]`, levels as `{a,b}`.
fact <- function(name, known) {
  if (is.factor(known)) known <- levels(known)
  if (is.character(known) && length(known) > 0 && !anyNA(known)) {
    odd <- !grepl("^[[:alnum:]_.*-]+$", known)
    return(paste0("{", paste0(ifelse(odd, paste0('"', known, '"'), known), collapse = ","), "}"))
  }
  if (length(known) == 2 && !anyNA(known) && (is.numeric(known) || inherits(known, "Date"))) {
    ends <- if (is.numeric(known)) format(known, digits = 15, scientific = FALSE, trim = TRUE) else format(known, "%Y-%m-%d")
    # `format` gives both ends as many decimals as one of them needs.
    return(paste0("[", paste0(ends, collapse = ".."), "]"))
  }
  refuse("request", sprintf("public must give two bounds or the levels of '%s', as in c(0, 20) or c(\"no\", \"yes\")", name))
}
