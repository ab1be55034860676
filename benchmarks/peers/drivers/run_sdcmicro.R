# sdcMicro: table.csv, out.csv, k, names of its numbers (comma-separated), suppress or mdav.
arguments <- commandArgs(trailingOnly = TRUE)
if (identical(arguments, "--version")) {
  cat(as.character(packageVersion("sdcMicro")), "\n")
  quit()
}
suppressMessages(library(sdcMicro))
data <- read.csv(arguments[1], colClasses = "character", check.names = FALSE)
names <- colnames(data)
numbers <- strsplit(arguments[4], ",")[[1]]
if (arguments[5] == "mdav") {
  data[] <- lapply(data, as.numeric)
  released <- microaggregation(data, variables = names, aggr = as.integer(arguments[3]), method = "mdav")$mx
} else {
  data[] <- lapply(data, as.factor)
  released <- kAnon(data, keyVars = names, k = as.integer(arguments[3]))$xAnon
  released <- as.data.frame(lapply(released, as.character), check.names = FALSE)
  released[is.na(released)] <- "*"
}
colnames(released) <- names
write.csv(released, arguments[2], row.names = FALSE, quote = TRUE)
