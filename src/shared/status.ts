/** Returns true for 2xx (docs/decisions.md), and false without a response, that is, for an undefined status. */
export const isSuccess = (status = 0): boolean => status >= 200 && status < 300
