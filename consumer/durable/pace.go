package durable

import "time"

// pace is when messages may be sent: not faster than the rate limit, and at first, with replay_policy original, in the
// time that lay between them when they were published.
type pace struct {
	rate uint64    // bits per second; zero for no limit
	free time.Time // when the rate allows the next message

	replay   bool
	replayed uint64    // the end of what is replayed: the last sequence when it began; zero while unknown
	before   time.Time // when the message before was published
	at       time.Time // when it was sent
	due      time.Time // when the message that is offered may be sent; zero when none waits
}

// holds says that nothing may be sent now.
func (p *pace) holds(now time.Time) bool { return p.rate > 0 && now.Before(p.free) }

// early says that a message is to wait, because of the gap between it and the one before.
func (p *pace) early(published, now time.Time) bool {
	p.due = time.Time{}
	if !p.replay || p.at.IsZero() {
		return false
	}
	if due := p.at.Add(published.Sub(p.before)); now.Before(due) {
		p.due = due
		return true
	}
	return false
}

// sent notes a delivery.
func (p *pace) sent(published time.Time, size int, now time.Time) {
	if p.rate > 0 {
		if p.free.Before(now) {
			p.free = now
		}
		p.free = p.free.Add(time.Duration(float64(size*8) / float64(p.rate) * float64(time.Second)))
	}
	p.before, p.at = published, now
}

// begin tells the end of the stream, up to which is replayed, if it was not told before.
func (p *pace) begin(last uint64) {
	if p.replay && p.replayed == 0 {
		p.replayed = max(last, 1)
	}
}

// caughtUp tells where the consumer is: what comes after what is replayed is delivered as it comes.
func (p *pace) caughtUp(next uint64) {
	if p.replayed > 0 && next > p.replayed {
		p.replay = false
	}
	p.due = time.Time{}
}

// until is when something may be sent that may not be now; zero when nothing waits.
func (p *pace) until(now time.Time) time.Time {
	if p.holds(now) {
		return p.free
	}
	if now.Before(p.due) {
		return p.due
	}
	return time.Time{}
}
