import { actionPane, type Call, runAction, type Target } from './action.ts'
import { FILES } from './assets.ts'
import { deliveryPath, type Pane, renderPage } from './html/page.ts'
import { ICON } from './html/template.ts'
import { InspectorError, type InspectorResponse, respond, respondHtml } from './http.ts'
import { listRows, streamChanges } from './list.ts'
import { deliveryPane, diffPane, panelPane, startPane } from './pages.ts'
import type { Item, Panel, PanelAction, RowPage, Values } from './source.ts'
import { TABS } from './tabs.ts'

/** Responds to a request. Resolves with undefined if the inspector has no such page. */
export type Route = (call: Call) => Promise<InspectorResponse | undefined>

const MEDIA_TYPES: Readonly<Record<string, string>> = {
  js: 'text/javascript; charset=utf-8',
  css: 'text/css; charset=utf-8',
  svg: 'image/svg+xml',
}

const ASSETS: ReadonlyMap<string, string> = new Map(Object.entries({ ...FILES, 'icon.svg': ICON }))

/** Files that the login page needs too. They contain nothing secret. */
export function findAsset(path: string): InspectorResponse | undefined {
  const [, name = '', extension = ''] = /^\/assets\/([\w-]+\.(\w+))$/.exec(path) ?? []
  const text = ASSETS.get(name)
  return text === undefined ? undefined : respond(200, MEDIA_TYPES[extension] ?? '', text)
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
  return action && panelActionRoute(isGet, panel, action)
}

const start: Route = async (call) => {
  const page = await rowsOf(call)
  return show(call, startPane(call.context, page), page)
}

const live: Route = async ({ context }) =>
  respond(200, 'text/event-stream', streamChanges(context.source), { 'x-accel-buffering': 'no' })

const diff: Route = async (call) => {
  const { query } = call.context.request
  const [a, b] = await Promise.all(['a', 'b'].map((name) => findItem(call, query.get(name) ?? '')))
  return show(call, diffPane(call.context, a as Item, b as Item))
}

const clear: Route = async (call) => {
  const { source } = call.context
  if (!source.clear) return undefined
  await readSubmitted(call, false)
  await source.clear()
  return call.done('/', { message: 'The list is cleared.' })
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
    const values = await readSubmitted(call, isGet)
    const path = deliveryPath(item.id)
    if (action.isAvailable?.(item) === false) {
      // It was possible when the user saw its button.
      const message = `${action.label} is not possible now: the delivery is ${item.outcome.word}.`
      return call.done(path, { message, ok: false })
    }
    return respondAction(call, values, {
      action,
      subject: item,
      path: `${path}/${name}`,
      async next({ delivery = item.id }) {
        // The delivery may be gone, for example after it was discarded.
        return (await context.source.get(delivery)) ? deliveryPath(delivery) : '/'
      },
    })
  }
}

const panelActionRoute =
  (isGet: boolean, { name }: Panel, action: PanelAction): Route =>
  async (call) => {
    const values = await readSubmitted(call, isGet)
    const entry = (values ? values.entry : call.context.request.query.get('entry')) ?? ''
    return respondAction(call, values, {
      action,
      subject: entry,
      path: `/${name}/${action.name}`,
      hidden: { entry },
      next: ({ delivery }) => (delivery === undefined ? `/${name}` : deliveryPath(delivery)),
    })
  }

/** The submitted form; undefined for GET, which asks for the form. */
const readSubmitted = async (call: Call, isGet: boolean): Promise<Values | undefined> =>
  isGet ? undefined : call.requireFormSecret(await call.context.request.readForm())

async function respondAction<Subject>(
  call: Call,
  values: Values | undefined,
  target: Target<Subject>,
): Promise<InspectorResponse> {
  const result = values ? await runAction(call, target, values) : await actionPane(call.context, target)
  return 'content' in result ? show(call, result) : result
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
