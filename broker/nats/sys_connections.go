package nats

import "time"

// connectionsLimit is how many connections one answer describes, at most.
const connectionsLimit = 1024

// connection is what is told of one.
type connection struct {
	ID            uint64    `json:"cid"`
	Kind          string    `json:"kind"`
	Type          string    `json:"type"`
	IP            string    `json:"ip"`
	Port          int       `json:"port"`
	Start         time.Time `json:"start"`
	Active        time.Time `json:"last_activity"`
	RTT           string    `json:"rtt,omitempty"`
	Uptime        string    `json:"uptime"`
	Idle          string    `json:"idle"`
	Pending       int64     `json:"pending_bytes"`
	InMessages    int64     `json:"in_msgs"`
	OutMessages   int64     `json:"out_msgs"`
	InBytes       int64     `json:"in_bytes"`
	OutBytes      int64     `json:"out_bytes"`
	Subscriptions int       `json:"subscriptions"`
	Name          string    `json:"name,omitempty"`
	Lang          string    `json:"lang,omitempty"`
	Version       string    `json:"version,omitempty"`
	User          string    `json:"authorized_user,omitempty"`
	Account       string    `json:"account,omitempty"`
	SubjectList   []string  `json:"subscriptions_list,omitempty"`
}

type connz struct {
	ID          string       `json:"server_id"`
	Now         time.Time    `json:"now"`
	Count       int          `json:"num_connections"`
	Total       int          `json:"total"`
	Offset      int          `json:"offset"`
	Limit       int          `json:"limit"`
	Connections []connection `json:"connections"`
}

type connzRequest struct {
	Offset        int    `json:"offset"`
	Limit         int    `json:"limit"`
	ID            uint64 `json:"cid"`
	Subscriptions bool   `json:"subscriptions"`
}

// connz is what `nats server report connections` gathers, in the order of the connections' ids.
func (s *system) connz(r *request) any {
	var q connzRequest
	_ = r.optional(&q) // what is not understood is not asked for
	all := s.monitor.connections()
	if q.ID != 0 {
		all = only(all, q.ID)
	}
	if q.Limit <= 0 || q.Limit > connectionsLimit {
		q.Limit = connectionsLimit
	}
	part, p := cut(all, q.Offset, q.Limit)
	now := time.Now().UTC()
	z := connz{ID: s.server.id, Now: now, Count: len(part), Total: p.Total, Offset: p.Offset, Limit: p.Limit, Connections: []connection{}}
	for _, c := range part {
		c.Kind, c.Type, c.Account = "Client", "nats", account
		c.Uptime, c.Idle = uptime(now.Sub(c.Start)), uptime(now.Sub(c.Active))
		if !q.Subscriptions {
			c.SubjectList = nil
		}
		z.Connections = append(z.Connections, c)
	}
	return s.wrap(z)
}

func only(all []connection, id uint64) []connection {
	for _, c := range all {
		if c.ID == id {
			return []connection{c}
		}
	}
	return nil
}
