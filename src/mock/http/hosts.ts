const LOOPBACK = /^(localhost|127(\.\d{1,3}){3}|\[::1\])$/i

/** True for this machine's own host names, as URLs write them. */
export const isLoopback = (hostname: string): boolean => LOOPBACK.test(hostname)

/**
 * A host name or IP address as `URL.hostname` formats it: ASCII in lower case, IPv6 in brackets.
 *
 * @returns undefined if the host is invalid or has a port
 */
export function toHostname(host: string): string | undefined {
  const url = `http://${host.includes(':') && !host.startsWith('[') ? `[${host}]` : host}`
  if (!/^[^/?#@\\\s]+$/.test(host) || !URL.canParse(url)) return undefined
  const { hostname, port } = new URL(url)
  return port === '' ? hostname : undefined
}
