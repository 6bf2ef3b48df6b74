const IPV4 = /^127(\.(25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)){3}$/
/** URLs write `::ffff:127.0.0.1` as `::ffff:7f00:1`; sockets do not. */
const IPV6 = /^(::1|::ffff:7f[\da-f]{2}:[\da-f]{1,4})$/i
const MAPPED = /^::ffff:/i

/**
 * Returns true if a host can only be this machine. No other site can have such a host, so a `host` header with it rules
 * out DNS rebinding. The unspecified addresses 0.0.0.0 and `::` do not count. Nor do `localhost.` and names below
 * localhost: Node asks DNS for them, and the answer may be any machine.
 *
 * @param host as in `URL.hostname`, in a `host` header without its port, or the address of a socket
 */
export function isLoopback(host: string): boolean {
  if (host.toLowerCase() === 'localhost' || IPV4.test(host)) return true
  const address = host.startsWith('[') && host.endsWith(']') ? host.slice(1, -1) : host
  return IPV6.test(address) || (MAPPED.test(address) && IPV4.test(address.slice('::ffff:'.length)))
}

/** Returns the host in a `host` header, without its port. */
export const withoutPort = (header: string): string => header.replace(/:\d*$/, '')

/** True for https, and for http to this machine: other http requests would show a token on the network. */
export const isSecure = ({ protocol, hostname }: URL): boolean =>
  protocol === 'https:' || isLoopback(hostname)
