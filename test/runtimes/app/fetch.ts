import { control, route } from './subjects.ts'

/** The app under test, for every runtime that speaks Request and Response. */
export async function handle(request: Request): Promise<Response> {
  const { what, ...subject } = route(request.url)
  if (what === 'read') await request.text()
  if (what !== 'hook' && what !== 'read') return new Response(control(what, subject))
  return subject.receiver.fetch(request)
}
