import { isLoopback } from '../http/hosts.ts'

/** A payload URL, taken apart once for all that is sent there. */
export interface Target {
  hookUrl: string
  origin: string
  /** With the query. */
  path: string
  /** As the header says it. */
  host: string
  /** Whether a delivery may go there: to this machine, or to a host that was allowed by name. */
  isAllowed: boolean
}

export function toTarget(hookUrl: string, allowHosts: readonly string[]): Target {
  const { origin, pathname, search, host, hostname } = new URL(hookUrl)
  const isAllowed = isLoopback(hostname) || allowHosts.some((allowed) => toHostname(allowed) === hostname)
  return { hookUrl, origin, path: pathname + search, host, isAllowed }
}

/** A host as URLs write it: in lower case and ASCII, an address of version 6 in brackets. Undefined for what is none. */
function toHostname(host: string): string | undefined {
  const url = `http://${host.includes(':') && !host.startsWith('[') ? `[${host}]` : host}`
  if (/[/?#@\\\s]/.test(host) || !URL.canParse(url)) return undefined
  return new URL(url).hostname
}
