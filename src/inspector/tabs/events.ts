import type { Parsed, WebhookEvent } from '../../payload/events.ts'
import { parsePayload } from '../../payload/parse.ts'
import { renderFacts } from '../html/facts.ts'
import { type Html, html } from '../html/template.ts'
import type { Item } from '../source.ts'
import type { Tab } from './tab.ts'

const MAX_EVENTS = 200

export const events: Tab = {
  name: 'events',
  title: 'Events',
  render(item) {
    const parsed = parse(item)
    if (typeof parsed === 'string') return html`<p>The payload cannot be decoded: ${parsed}</p>`
    const { events } = parsed
    return html`<ol class="events">
${events.slice(0, MAX_EVENTS).map(
  (event) => html`<li><h3>${event.changeType}</h3>
${renderEvent(event)}</li>
`,
)}</ol>
${events.length > MAX_EVENTS ? html`<p>${events.length - MAX_EVENTS} more events are not shown.</p>` : ''}`
  },
}

function parse({ request: { body, contentType }, signature }: Item): Parsed | string {
  if (!body) return 'the body is missing'
  const parsed = parsePayload({ body, contentType, profile: { signatureHeader: signature.name } })
  return parsed.ok ? parsed : parsed.message
}

const renderEvent = ({
  when,
  service,
  webhook,
  layerId,
  jobId,
  taskName,
  changesUrl,
  statusUrl,
}: WebhookEvent): Html =>
  renderFacts([
    ['When', when?.toISOString()],
    ['Service', [service.folderName, service.serviceName].filter(Boolean).join('/')],
    ['Service type', service.serviceType],
    ['Webhook', webhook.name ?? webhook.id],
    ['Layer', layerId === undefined ? undefined : String(layerId)],
    ['Job', jobId],
    ['Task', taskName],
    ['Changes URL', changesUrl],
    ['Status URL', statusUrl],
  ])
