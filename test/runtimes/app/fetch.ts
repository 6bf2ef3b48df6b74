import { runHere, type Use } from '../../changes/contract/subject.ts'
import { administer } from './admin.ts'
import { control, route } from './subjects.ts'

/** The paths that use a client of geohook/changes or geohook/admin, as the JSON of the request says. */
const CHANGES = '/changes'
const ADMIN = '/admin'

/** The app under test, for runtimes with the Fetch API's Request and Response. */
export async function handle(request: Request): Promise<Response> {
  const { pathname } = new URL(request.url)
  if (pathname === CHANGES) return Response.json(await runHere((await request.json()) as Use))
  if (pathname === ADMIN) return Response.json(await administer((await request.json()) as string))
  const { action, ...subject } = route(request.url)
  if (action === 'read') await request.text()
  if (action !== 'hook' && action !== 'read') return new Response(control(action, subject))
  return subject.receiver.fetch(request)
}
