package consumer

import "time"

// State is where a group stands; String gives Kafka's names.
type State uint8

const (
	Empty               State = iota // no members; there may be offsets
	PreparingRebalance               // classic: members are asked to join (again)
	CompletingRebalance              // classic: all joined; the leader has not yet assigned
	Assigning                        // consumer: the members changed, the assignment has not yet followed
	Reconciling                      // consumer: members give up and take over partitions
	Stable                           // everybody has an assignment
	Dead                             // deleted
)

func (s State) String() string {
	return [...]string{"Empty", "PreparingRebalance", "CompletingRebalance", "Assigning", "Reconciling", "Stable", "Dead"}[s]
}

// The types of groups, as ListGroups v5 names them (KIP-848).
const (
	ClassicType  = "classic"  // members assign among themselves: JoinGroup, SyncGroup
	ConsumerType = "consumer" // the broker assigns: ConsumerGroupHeartbeat
)

// machine is what the shell needs of a group of either type. None of the methods but drain, tick and mayCommit changes
// anything.
type machine interface {
	status() status
	// drain hands over what the last steps asked for.
	drain() output
	// deadline is when tick has to be called next, or something earlier; zero for never.
	deadline() time.Time
	tick(now time.Time)
	// mayCommit says whether offsets may be committed; then fence judges the single places.
	mayCommit(r *CommitRequest, now time.Time) (fence, error)
	// subscribed returns the topics that members are subscribed to. False if there are members that do not say.
	subscribed(c *catalog) (map[string]bool, bool)
	// image is the stored form, with the members that are named, or all.
	image(members []string, all bool) image
}

// status is what can be said of a group of either type.
type status struct {
	kind         string // ClassicType or ConsumerType
	protocolType string // "" when it never had members
	state        State
	members      int
	expected     int // ids given out but not used yet
	emptySince   time.Time
	unused       bool // it never had members
}

// vacant says that nobody is here and nobody is expected.
func (s status) vacant() bool { return s.members == 0 && s.expected == 0 && s.state == Empty }

// output is what one step asks of the shell: first save the group, if asked to, then send the replies.
type output struct {
	save    bool
	members []string // members that are stored by themselves: the ids of those that changed or are gone
	replies []reply
}

// fence says whether the offset of one place may be committed.
type fence func(place) error

func anyPlace(place) error { return nil }

func isDue(t, now time.Time) bool { return !t.IsZero() && !now.Before(t) }

// current finds the member with this id. static holds the member id that owns each instance id: a request that names an
// instance must come from its owner. Errors: ErrUnknownMember, ErrFencedInstance.
func current[M any](members map[string]*M, static map[string]string, id, instance string) (*M, error) {
	if instance != "" {
		owner, ok := static[instance]
		if !ok {
			return nil, ErrUnknownMember
		}
		if owner != id {
			return nil, ErrFencedInstance
		}
	}
	m, ok := members[id]
	if !ok {
		return nil, ErrUnknownMember
	}
	return m, nil
}
