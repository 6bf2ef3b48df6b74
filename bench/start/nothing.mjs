// Empty, to measure the cost of loading any module.
