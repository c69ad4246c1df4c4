package consumer

import (
	"cmp"
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
	if err := cmp.Or(g.checkJoin(r), g.refuseMember(r.Group)); err != nil {
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
	group, err := g.classicFor(e, r)
	if err != nil {
		return ready[*JoinResponse](nil, err)
	}
	to, ch := e.park()
	group.join(r, to, freshID(r), time.Now())
	g.settle(e)
	return func(ctx context.Context) (*JoinResponse, error) {
		reply, err := e.wait(ctx, to, ch)
		return reply.join, err
	}
}

// classicFor is the group that r may join. A consumer group that has no members becomes a classic one.
func (g *Groups) classicFor(e *entry, r *JoinRequest) (*classicGroup, error) {
	group := e.consumer()
	switch {
	case group == nil:
		return e.classic(), nil
	case len(group.members) > 0:
		return nil, fmt.Errorf("%w: the broker assigns in this group", ErrInconsistentProtocol)
	case r.MemberID != "":
		return nil, ErrUnknownMember
	}
	classic := newClassicGroup(g.settings)
	classic.emptySince = group.emptySince
	e.become(classic)
	return classic, nil
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
	group := e.classic()
	if group == nil {
		return ready[*SyncResponse](nil, ErrUnknownMember)
	}
	to, ch := e.park()
	group.sync(r, to, time.Now())
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
	if e.classic() == nil {
		return ErrUnknownMember
	}
	return e.classic().heartbeat(m.MemberID, m.InstanceID, generation, time.Now())
}

// Leave removes members from a group, and returns an error for each: nil, ErrUnknownMember or ErrFencedInstance. The
// second error, ErrInvalidGroupID, is for the whole request.
func (g *Groups) Leave(group string, members []MemberRef) ([]error, error) {
	if err := checkGroupID(group); err != nil {
		return nil, err
	}
	e := g.lock(group)
	if e != nil {
		defer e.mu.Unlock()
		if classic := e.classic(); classic != nil {
			errs := classic.leave(members, time.Now())
			g.settle(e)
			return errs, nil
		}
	}
	errs := make([]error, len(members))
	for i := range errs {
		errs[i] = ErrUnknownMember
	}
	return errs, nil
}
