//! Routes and assignments.

use crate::client::{Clients, code, resource};
use crate::node::{BROKER, Node};
use roxmq_proxy::schema::*;

#[tokio::test]
async fn a_route_leads_where_the_client_came_from() {
    let node = Node::start().await;
    node.topic("T", "FIFO").await;
    let route = node.client("c").await.route("T").await;
    assert_eq!(code(route.status.as_ref()), Code::Ok);
    let ids: Vec<_> = route.message_queues.iter().map(|queue| queue.id).collect();
    assert_eq!(ids, [0, 1, 2, 3]);
    for queue in &route.message_queues {
        let broker = queue.broker.as_ref().unwrap();
        assert_eq!((broker.name.as_str(), broker.id), (BROKER, 0));
        let endpoints = broker.endpoints.as_ref().unwrap();
        assert_eq!(endpoints.scheme(), AddressScheme::IPv4);
        let address = &endpoints.addresses[0];
        assert_eq!((address.host.as_str(), address.port), ("127.0.0.1", i32::from(node.address().port())));
        assert_eq!(queue.permission(), Permission::ReadWrite);
        assert_eq!(queue.accept_message_types, [MessageType::Fifo as i32]);
    }
    node.stop().await;
}

/// Behind a mapped port the server's own address leads nowhere.
#[tokio::test]
async fn a_route_leads_to_what_the_client_dialled() {
    let node = Node::start().await;
    node.topic("T", "NORMAL").await;
    let connection = Clients::connect(node.address()).await;
    let check = async |authority: &str, expected: (AddressScheme, &str, i32)| {
        let route = connection.client_of("c", authority).route("T").await;
        let broker = route.message_queues[0].broker.as_ref().unwrap();
        let endpoints = broker.endpoints.as_ref().unwrap();
        let address = &endpoints.addresses[0];
        let found = (endpoints.scheme(), address.host.as_str(), address.port);
        assert_eq!(found, expected, "{authority}");
    };
    check("mq.example.org:31081", (AddressScheme::DomainName, "mq.example.org", 31081)).await;
    check("192.0.2.7:31081", (AddressScheme::IPv4, "192.0.2.7", 31081)).await;
    check("[2001:db8::7]:31081", (AddressScheme::IPv6, "2001:db8::7", 31081)).await;
    node.stop().await;
}

/// The negative answer was remembered, and the topic made a moment later not found for a while.
#[tokio::test]
async fn a_topic_is_found_as_soon_as_it_is_there() {
    let node = Node::start().await;
    let mut client = node.client("c").await;
    assert_eq!(code(client.route("T").await.status.as_ref()), Code::TopicNotFound);
    node.topic("T", "NORMAL").await;
    assert_eq!(code(client.route("T").await.status.as_ref()), Code::Ok);
    node.stop().await;
}

#[tokio::test]
async fn a_group_is_assigned_brokers_and_a_group_in_order_queues() {
    let node = Node::start().await;
    node.topic("T", "NORMAL").await;
    let ordered = roxmq_protocol::command::Command::request(200)
        .body(br#"{"groupName":"Ordered","consumeMessageOrderly":true}"#.to_vec());
    node.operate(ordered).await;
    let mut client = node.client("c").await;
    for (group, expected) in [("Any", vec![-1]), ("Ordered", vec![0, 1, 2, 3])] {
        let asked = QueryAssignmentRequest {
            topic: Some(resource("T")),
            group: Some(resource(group)),
            endpoints: None,
        };
        let request = client.request(asked);
        let answer = client.stub.query_assignment(request).await.unwrap().into_inner();
        assert_eq!(code(answer.status.as_ref()), Code::Ok);
        let ids: Vec<_> =
            answer.assignments.iter().map(|assigned| assigned.message_queue.as_ref().unwrap().id).collect();
        assert_eq!(ids, expected, "{group}");
    }
    node.stop().await;
}
