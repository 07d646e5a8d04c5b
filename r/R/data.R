# Tables from R to the native half.
#
# What a cell becomes depends on that cell alone: nothing is guessed, voted or converted over a
# column. No message of another package is passed on, since it may hold cells.

accepted <- paste(
  "the data must be a data frame, a list of columns, a matrix with column names, the path of a file, a list of paths, or, with the package nanoarrow,",
  "anything it makes an array stream of"
)

# What `data` is, for the native half. `wanted` are the columns that will be read, where that is
# known; `csv` says how text files are written.
described <- function(data, wanted = NULL, csv = NULL) {
  if (is.character(data) && is.null(dim(data))) return(list(files = path_of_data(data), csv = text_or_null("csv", csv)))
  if (is_list_of_paths(data)) return(list(files = existing("the data", data), csv = text_or_null("csv", csv)))
  if (inherits(data, "nanoarrow_array_stream")) return(list(stream = data))
  if (is.data.frame(data)) return(framed(data, nrow(data), wanted))
  if (is.matrix(data) && !is.null(colnames(data))) return(framed(by_column(data), nrow(data), wanted))
  if (is.list(data) && !is.object(data) && !is.null(names(data))) return(framed(data, NROW(data[[1]]), wanted))
  list(stream = stream(data))
}

# One text is a path. Several are a column of a table by mistake, and no cell of it may be in a
# message.
path_of_data <- function(data) {
  if (!is_text(data) || grepl("\n", data, fixed = TRUE)) {
    refuse("request", "the data are texts, and no path: give a data frame, the path of a file, or a list of paths")
  }
  path.expand(enc2utf8(data))
}

is_list_of_paths <- function(data) {
  is.list(data) && !is.object(data) && is.null(names(data)) && length(data) > 0 && all(vapply(data, is_text, NA))
}

# Paths in a list. One that leads nowhere is not quoted: it may be a cell, and the list no list of
# paths.
existing <- function(what, listed) {
  paths <- path.expand(enc2utf8(unlist(listed)))
  leads <- vapply(paths, function(path) path == "-" || file.exists(path) || length(Sys.glob(path)) > 0, NA, USE.NAMES = FALSE)
  if (!all(leads)) {
    refuse("data", sprintf("path %d of the %d that are given as %s does not exist: check it", which(!leads)[1], length(paths), what))
  }
  paths
}

by_column <- function(matrix) {
  columns <- lapply(seq_len(ncol(matrix)), function(j) matrix[, j])
  setNames(columns, colnames(matrix))
}

framed <- function(columns, rows, wanted) {
  names <- utf8(names(columns))
  if (!all(wanted %in% names)) {
    # The library refuses, and suggests the nearest of the names there are.
    return(list(columns = setNames(rep(list(NA), length(names)), names), rows = 1))
  }
  read <- if (is.null(wanted)) seq_along(names) else which(names %in% wanted)
  list(columns = setNames(lapply(read, function(j) column(columns[[j]])), names[read]), rows = rows)
}

# A vector of a type that the native half knows, or NULL for what no model can use.
column <- function(cells) {
  if (inherits(cells, "POSIXt")) cells <- day(cells)
  if (inherits(cells, "Date")) return(structure(as.double(cells), class = "Date"))
  if (inherits(cells, "integer64")) return(cells)
  if (is.factor(cells)) return(structure(as.integer(cells), levels = utf8(levels(cells)), class = "factor"))
  # Texts and numbers that are only marked, as `I(x)` and columns that the package haven has read.
  if (inherits(cells, c("AsIs", "haven_labelled", "labelled"))) cells <- unclass(cells)
  if (is.object(cells) || !is.null(dim(cells))) return(NULL)
  if (is.character(cells)) return(utf8(cells))
  if (is.numeric(cells) || is.logical(cells)) as.vector(cells)
}

# The day that R shows of a time, in the zone of the column.
day <- function(times) {
  zone <- attr(times, "tzone")
  as.Date(as.POSIXct(times), tz = if (is.null(zone)) "" else zone[1])
}

# Each text as UTF-8, and missing where it is none. A text of unknown encoding is in that of the
# session where it has one, and else UTF-8 too: R itself would spell out the bytes.
utf8 <- function(texts) {
  session <- l10n_info()
  has_encoding <- session$`Latin-1` || (session$MBCS && !session$`UTF-8`)
  kind <- Encoding(texts)
  texts[kind == "bytes" | (kind == "unknown" & !has_encoding & !validUTF8(texts))] <- NA
  unknown <- which(kind == "unknown" & !has_encoding)
  if (length(unknown) > 0) Encoding(texts[unknown]) <- "UTF-8"
  texts <- enc2utf8(texts)
  texts[!validUTF8(texts)] <- NA
  texts
}

stream <- function(data) {
  if (!is.object(data) || !requireNamespace("nanoarrow", quietly = TRUE)) refuse("request", accepted)
  made <- tryCatch(nanoarrow::as_nanoarrow_array_stream(data), error = function(e) NULL)
  if (is.null(made)) refuse("request", accepted)
  made
}
