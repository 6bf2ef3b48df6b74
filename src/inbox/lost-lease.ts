/** The error of an attempt whose delivery another process has taken. */
export const lostLease = (): Error => new Error('another process has taken the delivery over')
