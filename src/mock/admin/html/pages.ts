import { type Html, html } from '../../../inspector/html/template.ts'
import type { DeliverySettings } from '../../delivery-settings.ts'
import { type AdminError, needsToken } from '../../http/errors.ts'
import type { Webhook } from '../../state/webhook.ts'
import type { HostedWebhook } from '../hosted-operations.ts'
import type { ResponseName } from '../operation.ts'
import { SERVICES } from '../paths.ts'
import type { PortalWebhook, PortalWebhooks } from '../portal/json.ts'
import { form } from './forms.ts'
import { page, type Site, type View } from './layout.ts'
import { linksOf } from './links.ts'
import { settingsForm } from './operation-form.ts'
import { serviceForms, webhookTable } from './webhook-list-page.ts'
import { fieldTable, webhookContent } from './webhook-page.ts'

/** The HTML page for a successful response. */
export function responsePage(view: View): string {
  const { address, root, site } = view
  const name = address.service?.path ?? ''
  return page(
    TITLES[view.response] + (name && ` of ${name}`),
    linksOf(root, address, idOf(view), site),
    site,
    root,
    CONTENTS[view.response](view),
  )
}

/** Id of the webhook that the page links to; undefined on pages without a webhook, for example after it was deleted. */
function idOf({ id, response, body }: View): string | undefined {
  if (response === 'Webhook') return (body as Webhook).id
  if (response === 'HostedWebhook') return (body as HostedWebhook).globalId
  return response === 'Status' || response === 'HostedStatus' ? undefined : id
}

/** The HTML page for an error. It has a form for the token if a token is required. */
export function errorPage(error: AdminError, root: string, site: Site): string {
  const { status, messages } = error
  return page(`Error ${status}`, linksOf(root, { family: SERVICES }, undefined, site), site, root, [
    html`<ul>${messages.map((message) => html`<li>${message}</li>`)}</ul>`,
    needsToken(error) ? form('', 'Continue with this token', { hasToken: true }) : html``,
  ])
}

const TITLES: Record<ResponseName, string> = {
  Webhook: 'Webhook',
  Webhooks: 'Webhooks',
  Status: 'Done',
  NotificationStatus: 'Failed deliveries',
  Settings: 'Settings',
  Token: 'Token',
  OAuthToken: 'Token',
  ServerInfo: 'Server',
  User: 'User',
  Portal: 'Portal',
  HostedWebhook: 'Webhook',
  HostedWebhooks: 'Webhooks',
  HostedStatus: 'Done',
  HostedNotificationStatus: 'Failed deliveries',
  PortalWebhook: 'Webhook',
  PortalWebhooks: 'Webhooks',
  PortalStatus: 'Done',
  PortalNotificationStatus: 'Attempts',
  PortalSettings: 'Settings',
}

const CONTENTS: Record<ResponseName, (view: View) => Html | readonly Html[]> = {
  Webhook: (view) => webhookContent(view.body as Webhook, view),
  Webhooks: (view) => listContent((view.body as { webhooks: Webhook[] }).webhooks, view),
  Status: ({ body }) => fieldTable(body),
  NotificationStatus: ({ body }) => failureList(body as Failures),
  Settings(view) {
    const { body, site } = view
    const { action, button, fields } = settingsForm(view, body as DeliverySettings)
    return [fieldTable(body), form(action, button, { fields, hasToken: site.hasTokens })]
  },
  Token: ({ body }) => fieldTable(body),
  OAuthToken: ({ body }) => fieldTable(body),
  ServerInfo: ({ body }) => fieldTable(body),
  User: ({ body }) => fieldTable(body),
  Portal: ({ body }) => fieldTable(body),
  HostedWebhook: (view) => webhookContent(fromHosted(view.body as HostedWebhook), view),
  HostedWebhooks: (view) => listContent((view.body as HostedWebhook[]).map(fromHosted), view),
  HostedStatus: ({ body }) => fieldTable(body),
  HostedNotificationStatus: ({ body }) => failureList((body as [Failures])[0]),
  PortalWebhook: ({ body }) => fieldTable(withoutSecret(body as PortalWebhook)),
  PortalWebhooks: ({ body }) =>
    (body as PortalWebhooks).webhooks.map((webhook) => fieldTable(withoutSecret(webhook))),
  PortalStatus: ({ body }) => fieldTable(body),
  PortalNotificationStatus: ({ body }) => fieldTable(body),
  PortalSettings: ({ body }) => fieldTable(body),
}

const withoutSecret = ({ secret, ...others }: PortalWebhook): object => ({
  ...others,
  secret: secret ? 'set' : 'not set',
})

const fromHosted = ({ globalId, ...others }: HostedWebhook): Webhook => ({ id: globalId, ...others })

const listContent = (webhooks: readonly Webhook[], view: View): Html[] => [
  webhookTable(webhooks, view),
  ...serviceForms(view),
]

interface Failures {
  webhookNotificationStatus: { invokedTimestamp: number | string; serverResponse?: string }[]
}

function failureList({ webhookNotificationStatus: failures }: Failures): Html {
  if (failures.length === 0) return html`<p>None.</p>`
  return html`<ol>${failures.map(
    ({ invokedTimestamp, serverResponse = '' }) =>
      html`<li>${timeText(Number(invokedTimestamp))}${serverResponse && ` ${serverResponse}`}</li>`,
  )}</ol>`
}

const timeText = (time: number): string => new Date(time).toISOString()
