import { isHidden } from '../../shared/redact.ts'
import { isText, textOf } from '../body-text.ts'
import { deliveryPath } from '../html/row.ts'
import { html } from '../html/template.ts'
import { pathOf } from '../reception/address.ts'
import type { Item } from '../source.ts'
import type { Tab } from './tab.ts'

const PLACEHOLDER = 'http://receiver.example'

/** curl computes these headers itself. */
const COMPUTED = /^(host|content-length|connection|transfer-encoding|expect)$/i

export const curl: Tab = {
  name: 'curl',
  title: 'curl',
  render(item, { href }) {
    const { address, body } = item.request
    return html`<p>Sends the same bytes and headers again. Redacted headers are missing.${
      address === undefined ? ` The address of the receiver is unknown: replace ${PLACEHOLDER}.` : ''
    }${body ? '' : ' The body is not recorded, so the command sends none.'}</p>
<pre class="bytes" tabindex="0" id="curl" aria-label="curl command">${toCurl(item)}</pre>
<p><button type="button" class="scripted-only" data-copy="curl">Copy</button> <a href="${href(deliveryPath(item.id, 'download'))}" download>Download the body</a></p>
`
  },
}

/** A command for a POSIX shell. A body that is not text is read from the downloaded file. */
function toCurl({
  id,
  request: { method, url, address = PLACEHOLDER + pathOf(url), headers, body },
}: Item): string {
  const sent = headers.filter((header) => !COMPUTED.test(header[0]) && !isHidden(header))
  const bytes = body ?? new Uint8Array()
  const isInline = isText(bytes) && bytes.length <= MAX_INLINE
  const lines = [
    ...(isInline && bytes.length > 0 ? [`printf %s ${quote(textOf(bytes))} |`] : []),
    // Senders choose the method too. The options keep curl from expanding brackets and from removing dot segments.
    `curl -X ${/^[A-Z]+$/.test(method) ? method : quote(method)} -g --path-as-is ${quote(address)}`,
    // curl removes a header without a value, unless it ends with a semicolon, and adds a missing content type.
    ...sent.map(([name, value]) => `  -H ${quote(value === '' ? `${name};` : `${name}: ${value}`)}`),
    ...(sent.some(([name]) => name.toLowerCase() === 'content-type') ? [] : [`  -H 'content-type:'`]),
    // `@-` reads the bytes from standard input, and does not take an @ or a line break in them for something else.
    `  --data-binary ${!isInline ? quote(`@${id}.bin`) : bytes.length > 0 ? '@-' : "''"}`,
  ]
  return lines
    .map((line, index) => (index === lines.length - 1 || line.endsWith('|') ? line : `${line} \\`))
    .join('\n')
}

const MAX_INLINE = 64 * 1024

/** Quotes text for a POSIX shell. */
const quote = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`
