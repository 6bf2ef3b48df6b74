import { colours, print, printJson, printNote } from '../terminal/output.ts'
import { printable } from '../terminal/printable.ts'
import type { LocalCa } from '../tls/local-ca.ts'

/** Prints the address of the listener and, with a local CA, the path of its certificate. */
export function printAddress(url: string, ca: LocalCa | undefined, json: boolean): void {
  if (json) {
    printJson({ event: 'listening', url, ca: ca?.path }, 0)
    return
  }
  const lines = [`listening on ${colours.bold(url)}${colours.dim(' (Ctrl-C stops it)')}`]
  if (ca) {
    const use = '(for curl --cacert and NODE_EXTRA_CA_CERTS; geohook trusts it already)'
    lines.push(`CA certificate ${printable(ca.path)} ${colours.dim(use)}`)
    if (ca.isRenewed) printNote('The local CA was about to expire, or had expired: made a new one.')
  }
  print(lines.join('\n')) // at once, because a script may stop the listener when it has read the address
}
