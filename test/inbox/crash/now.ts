/** Returns the time of the clock that all processes of the machine share, in nanoseconds. It never jumps. */
export const now = (): number => Number(process.hrtime.bigint())
