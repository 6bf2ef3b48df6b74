import type { DeliverySettings } from '../../delivery-settings.ts'
import type { AdminError } from '../../http/errors.ts'
import type { Webhook } from '../../state/webhook.ts'
import type { ResponseName } from '../operation.ts'
import type { Address } from '../paths.ts'
import { field, form, input } from './forms.ts'
import { type Link, page, type Site, type View, webhookHref, webhooksHref } from './layout.ts'
import { type Html, html } from './template.ts'
import { serviceForms, webhookTable } from './webhook-list-page.ts'
import { fieldTable, webhookContent } from './webhook-page.ts'

/** The HTML page for a successful response. */
export function responsePage(view: View): string {
  const { address, root, site } = view
  const name = address.scope === 'service' ? address.service : ''
  return page(
    TITLES[view.response] + (name && ` of ${name}`),
    linksOf(root, address, idOf(view), site),
    CONTENTS[view.response](view),
  )
}

/** Id of the webhook that the page links to; undefined on pages without a webhook, for example after it was deleted. */
function idOf({ id, response, body }: View): string | undefined {
  if (response === 'Webhook') return (body as Webhook).id
  return response === 'Status' ? undefined : id
}

/** The HTML page for an error. It has a form for the token if a token is required. */
export function errorPage({ status, messages }: AdminError, root: string, site: Site): string {
  const needsToken = status === 498 || status === 499
  return page(`Error ${status}`, linksOf(root, undefined, undefined, site), [
    html`<ul>${messages.map((message) => html`<li>${message}</li>`)}</ul>`,
    needsToken ? form('', 'Continue with this token', true) : html``,
  ])
}

function linksOf(root: string, address: Address | undefined, id: string | undefined, site: Site): Link[] {
  const links: Link[] = []
  if (site.hasSiteList) {
    links.push(
      [`${root}services/webhooks`, 'All webhooks'],
      [`${root}services/webhooks/settings`, 'Settings'],
    )
  }
  if (address?.scope !== 'service') return links
  links.push([webhooksHref(root, address.service), address.service])
  if (id === undefined) return links
  const href = webhookHref(root, address.service, id)
  links.push([href, 'Webhook'])
  if (site.hasSiteList) links.push([`${href}/notificationStatus`, 'Failures'])
  return links
}

const TITLES: Record<ResponseName, string> = {
  Webhook: 'Webhook',
  Webhooks: 'Webhooks',
  Status: 'Done',
  NotificationStatus: 'Failed deliveries',
  Settings: 'Settings',
  Token: 'Token',
}

const CONTENTS: Record<ResponseName, (view: View) => Html | readonly Html[]> = {
  Webhook({ address, body, root, site }) {
    return address.scope === 'service' ? webhookContent(body as Webhook, root, address.service, site) : []
  },
  Webhooks({ address, body, root, site }) {
    const table = webhookTable((body as { webhooks: Webhook[] }).webhooks, root)
    if (address.scope !== 'service') return table
    return [table, serviceForms(root, address.service, address.serviceType, site)]
  },
  Status: ({ body }) => fieldTable(body),
  NotificationStatus({ body }) {
    const failures = (body as { webhookNotificationStatus: { invokedTimestamp: number }[] })
      .webhookNotificationStatus
    if (failures.length === 0) return html`<p>None.</p>`
    return html`<ol>${failures.map(({ invokedTimestamp }) => html`<li>${timeText(invokedTimestamp)}</li>`)}</ol>`
  },
  Settings({ body, root, site }) {
    const { status: _, ...settings } = body as DeliverySettings & { status?: string }
    const fields = Object.entries(settings).map(([name, value]) => field(name, input(name, value)))
    return [fieldTable(body), form(`${root}services/webhooks/settings`, 'Change', site.hasTokens, fields)]
  },
  Token: ({ body }) => fieldTable(body),
}

const timeText = (time: number): string => new Date(time).toISOString()
