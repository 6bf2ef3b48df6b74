/** What has so long, and is cut then. */
interface Cuttable {
  cut(): void
  /** Where it stands among the others that have as long. */
  place: number
}

/** One timer for all that begin together: nearly all of them end before, and to set and clear one for each takes as long as to sign. */
export class Deadline {
  private readonly milliseconds: number
  /** Those that have not ended. */
  private readonly members: Cuttable[] = []
  private timer: NodeJS.Timeout | undefined

  constructor(seconds: number) {
    this.milliseconds = seconds * 1000
  }

  join(member: Cuttable): void {
    member.place = this.members.length
    if (this.members.push(member) === 1) this.timer = setTimeout(cutAll, this.milliseconds, this.members)
  }

  /** Called once for each member, when it has ended: from then on it is not held. */
  leave({ place }: Cuttable): void {
    const last = this.members.pop() as Cuttable
    if (last.place !== place) {
      last.place = place
      this.members[place] = last
    }
    if (this.members.length === 0) clearTimeout(this.timer)
  }
}

/** Each leaves when it is cut. */
function cutAll(members: readonly Cuttable[]): void {
  for (const member of [...members]) member.cut()
}
