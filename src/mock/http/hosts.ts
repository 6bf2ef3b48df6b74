const LOOPBACK = /^(localhost|127(\.\d{1,3}){3}|\[::1\])$/i

/** True for `localhost` and loopback addresses, in the form of `URL.hostname`. */
export const isLoopback = (hostname: string): boolean => LOOPBACK.test(hostname)

/**
 * Converts a host name or IP address to the form of `URL.hostname`: lower-case ASCII, IPv6 in brackets.
 *
 * @returns undefined if the host is invalid or has a port
 */
export function toHostname(host: string): string | undefined {
  const url = `http://${host.includes(':') && !host.startsWith('[') ? `[${host}]` : host}`
  if (!/^[^/?#@\\\s]+$/.test(host) || !URL.canParse(url)) return undefined
  const { hostname, port } = new URL(url)
  return port === '' ? hostname : undefined
}
