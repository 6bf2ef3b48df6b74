/** Workers, edge runtimes and browsers: there is nothing to wait for, and in some of them requests cannot share a promise. */
export function endOfTurn(): void {}
