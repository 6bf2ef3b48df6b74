import { runHere, type Use } from '../../changes/contract/subject.ts'
import { control, route } from './subjects.ts'

/** The path that uses a client of geohook/changes, as the JSON of the request says. */
const CHANGES = '/changes'

/** The app under test, for runtimes with the Fetch API's Request and Response. */
export async function handle(request: Request): Promise<Response> {
  if (new URL(request.url).pathname === CHANGES)
    return Response.json(await runHere((await request.json()) as Use))
  const { action, ...subject } = route(request.url)
  if (action === 'read') await request.text()
  if (action !== 'hook' && action !== 'read') return new Response(control(action, subject))
  return subject.receiver.fetch(request)
}
