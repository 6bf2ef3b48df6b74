import {
  type Call,
  notPossible,
  runDeliveryAction,
  runPanelAction,
  showDeliveryAction,
  showPanelAction,
} from './action.ts'
import { FILES } from './assets.ts'
import { deliveryPath, type Pane, renderPage } from './html/page.ts'
import { ICON } from './html/template.ts'
import { InspectorError, type InspectorResponse, respond, respondHtml } from './http.ts'
import { listRows } from './list.ts'
import { streamChanges } from './live.ts'
import { deliveryPane, diffPane, panelPane, startPane } from './pages.ts'
import type { Item, RowPage } from './source.ts'
import { TABS } from './tabs.ts'

/** Responds to a request. Resolves with undefined if the inspector has no such page. */
export type Route = (call: Call) => Promise<InspectorResponse | undefined>

/** Files that the login page needs too. They contain nothing secret. */
export function findAsset(path: string): InspectorResponse | undefined {
  const found = ASSETS.get(path)
  return found && respond(200, ...found)
}

const MEDIA_TYPES: Readonly<Record<string, string>> = {
  js: 'text/javascript; charset=utf-8',
  css: 'text/css; charset=utf-8',
  svg: 'image/svg+xml',
}

const ASSETS: ReadonlyMap<string, readonly [contentType: string, body: string]> = new Map([
  ...Object.entries(FILES).map(([name, text]) => asset(name, text)),
  asset('icon.svg', ICON),
])

function asset(name: string, text: string): [path: string, [contentType: string, body: string]] {
  const [, extension = ''] = name.split('.')
  return [`/assets/${name}`, [MEDIA_TYPES[extension] ?? 'application/octet-stream', text]]
}

/** Finds the page of a path: `/`, `/live`, `/diff`, `/deliveries/…`, or a panel. */
export function findRoute(
  method: string,
  segments: readonly string[],
  { source }: Call['context'],
): Route | undefined {
  const [first = '', ...rest] = segments
  const isGet = method === 'GET'
  if (segments.length === 0) return isGet ? start : undefined
  if (first === 'live' && rest.length === 0) return isGet ? live : undefined
  if (first === 'diff' && rest.length === 0) return isGet ? diff : undefined
  if (first === 'clear' && rest.length === 0) return isGet ? undefined : clear
  if (first === 'deliveries')
    return rest.length === 1 || rest.length === 2 ? deliveryRoute(isGet, rest) : undefined
  const panel = source.panels.find(({ name }) => name === first)
  if (!panel || rest.length > 1) return undefined
  const action = panel.actions.find(({ name }) => name === rest[0])
  if (rest.length === 0)
    return isGet ? async (call) => show(call, await panelPane(call.context, panel)) : undefined
  if (!action) return undefined
  return isGet
    ? async (call) => show(call, await showPanelAction(call, panel, action))
    : (call) => runPanelAction(call, panel, action, (pane) => show(call, pane))
}

const start: Route = async (call) => {
  const page = await rowsOf(call)
  return show(call, startPane(call.context, page), page)
}

const live: Route = async ({ context }) =>
  respond(200, 'text/event-stream', streamChanges(context), { 'x-accel-buffering': 'no' })

const diff: Route = async (call) => {
  const { query } = call.context.request
  const [a, b] = await Promise.all(['a', 'b'].map((name) => findItem(call, query.get(name) ?? '')))
  return show(call, diffPane(call.context, a as Item, b as Item))
}

const clear: Route = async (call) => {
  const { source } = call.context
  if (!source.clear) return undefined
  await call.context.request.readForm().then(call.requireFormSecret)
  await source.clear()
  return call.done('/', { message: 'The list is cleared.', ok: true })
}

function deliveryRoute(isGet: boolean, [id = '', name = '']: readonly string[]): Route {
  return async (call) => {
    const { context } = call
    const item = await findItem(call, id)
    const tab = TABS.find((candidate) => candidate.name === name)
    if (tab && isGet) {
      const page = await rowsOf(call)
      return show(call, await deliveryPane(context, item, tab, page), page)
    }
    if (name === 'download' && isGet) return download(item)
    const action = context.source.actions.find((candidate) => candidate.name === name)
    if (!action) return undefined
    if (isGet && action.isAvailable?.(item) === false)
      return call.done(deliveryPath(item.id), notPossible(action, item))
    if (isGet) return show(call, await showDeliveryAction(call, item, action))
    return runDeliveryAction(call, item, action, (pane) => show(call, pane))
  }
}

/** @throws {InspectorError} 404 */
async function findItem({ context }: Call, id: string): Promise<Item> {
  const item = await context.source.get(id)
  if (!item)
    throw new InspectorError(
      404,
      'This delivery is not in the list. It may have been cleared, or newer deliveries took its place.',
    )
  return item
}

/** The exact bytes of a body. A browser saves them and never renders them. */
function download({ id, request: { body } }: Item): InspectorResponse {
  if (!body) throw new InspectorError(404, 'The body is not recorded.')
  const name = id.replace(/[^\w-]/g, '_').slice(0, 64)
  return respond(200, 'application/octet-stream', new Uint8Array(body), {
    'content-disposition': `attachment; filename="${name}.bin"`,
    'content-length': String(body.length),
  })
}

const rowsOf = ({ context }: Call): Promise<RowPage> =>
  listRows(context.source, context.filters, context.request.query.get('after') ?? undefined)

/** Renders a pane with the list. The script asks for the pane alone. */
async function show(call: Call, pane: Pane, page?: RowPage): Promise<InspectorResponse> {
  const { context } = call
  const isAlone = context.request.headers['geohook-part'] === 'pane'
  const rows = isAlone ? { rows: [] } : (page ?? (await rowsOf(call)))
  return respondHtml(pane.status ?? 200, await renderPage(context, rows, pane))
}
