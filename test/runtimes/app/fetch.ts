import { control, route } from './subjects.ts'

/** The app under test, for runtimes with the Fetch API's Request and Response. */
export async function handle(request: Request): Promise<Response> {
  const { action, ...subject } = route(request.url)
  if (action === 'read') await request.text()
  if (action !== 'hook' && action !== 'read') return new Response(control(action, subject))
  return subject.receiver.fetch(request)
}
