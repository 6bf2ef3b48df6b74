const LOOPBACK = /^(localhost|127(\.\d{1,3}){3}|\[::1\])$/i

/** Whether a host name, as URLs write it, is this machine's own. */
export const isLoopback = (hostname: string): boolean => LOOPBACK.test(hostname)
