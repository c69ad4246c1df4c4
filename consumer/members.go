package consumer

import (
	"context"
	"crypto/rand"
	"fmt"
	"time"
)

// Join takes a member in, or back in. The answer comes when the group's join phase ends, which may take as long as the
// longest rebalance timeout of its members.
// Errors: ErrInvalidGroupID, ErrInvalidSessionTimeout, ErrInconsistentProtocol, ErrTooLarge, ErrGroupFull,
// ErrMemberIDRequired (with a response that has the id), ErrUnknownMember, ErrFencedInstance; ErrRebalanceInProgress
// when the same member joined again meanwhile.
func (g *Groups) Join(r *JoinRequest) Wait[*JoinResponse] {
	if err := g.checkJoin(r); err != nil {
		return ready[*JoinResponse](nil, err)
	}
	lock := g.lockNew
	if r.MemberID != "" {
		lock = g.lock
	}
	e := lock(r.Group)
	if e == nil {
		return ready[*JoinResponse](nil, ErrUnknownMember)
	}
	defer e.mu.Unlock()
	to, ch := e.park()
	e.group.join(r, to, freshID(r), time.Now())
	g.settle(e)
	return func(ctx context.Context) (*JoinResponse, error) {
		reply, err := e.wait(ctx, to, ch)
		return reply.join, err
	}
}

func (g *Groups) checkJoin(r *JoinRequest) error {
	if err := checkGroupID(r.Group); err != nil {
		return err
	}
	if r.SessionTimeout < g.settings.MinSession || r.SessionTimeout > g.settings.MaxSession {
		return fmt.Errorf("%w: %v, allowed are %v to %v",
			ErrInvalidSessionTimeout, r.SessionTimeout, g.settings.MinSession, g.settings.MaxSession)
	}
	if r.ProtocolType == "" || len(r.Protocols) == 0 {
		return ErrInconsistentProtocol
	}
	if len(r.Protocols) > MaxProtocols || subscriptionSize(r.Protocols) > MaxSubscription {
		return ErrTooLarge
	}
	return nil
}

func checkGroupID(id string) error {
	if id == "" || len(id) > MaxGroupID {
		return ErrInvalidGroupID
	}
	return nil
}

// freshID makes a member id that nobody can guess, with a start that people recognise.
func freshID(r *JoinRequest) string {
	prefix := r.ClientID
	if r.InstanceID != "" {
		prefix = r.InstanceID
	}
	return prefix + "-" + rand.Text()
}

// Sync returns the member's assignment, as soon as the leader has made it and it is saved.
// Errors: ErrInvalidGroupID, ErrUnknownMember, ErrFencedInstance, ErrIllegalGeneration, ErrInconsistentProtocol,
// ErrRebalanceInProgress.
func (g *Groups) Sync(r *SyncRequest) Wait[*SyncResponse] {
	if err := checkGroupID(r.Group); err != nil {
		return ready[*SyncResponse](nil, err)
	}
	e := g.lock(r.Group)
	if e == nil {
		return ready[*SyncResponse](nil, ErrUnknownMember)
	}
	defer e.mu.Unlock()
	to, ch := e.park()
	e.group.sync(r, to, time.Now())
	g.settle(e)
	return func(ctx context.Context) (*SyncResponse, error) {
		reply, err := e.wait(ctx, to, ch)
		return reply.sync, err
	}
}

// Heartbeat keeps a member alive.
// Errors: ErrInvalidGroupID, ErrUnknownMember, ErrFencedInstance, ErrIllegalGeneration; ErrRebalanceInProgress asks the
// member to join again.
func (g *Groups) Heartbeat(group string, m MemberRef, generation int32) error {
	if err := checkGroupID(group); err != nil {
		return err
	}
	e := g.lock(group)
	if e == nil {
		return ErrUnknownMember
	}
	defer e.mu.Unlock()
	return e.group.heartbeat(m.MemberID, m.InstanceID, generation, time.Now())
}

// Leave removes members from a group, and returns an error for each: nil, ErrUnknownMember or ErrFencedInstance. The
// second error, ErrInvalidGroupID, is for the whole request.
func (g *Groups) Leave(group string, members []MemberRef) ([]error, error) {
	if err := checkGroupID(group); err != nil {
		return nil, err
	}
	e := g.lock(group)
	if e == nil {
		errs := make([]error, len(members))
		for i := range errs {
			errs[i] = ErrUnknownMember
		}
		return errs, nil
	}
	defer e.mu.Unlock()
	errs := e.group.leave(members, time.Now())
	g.settle(e)
	return errs, nil
}
